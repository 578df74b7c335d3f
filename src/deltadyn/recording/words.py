"""The words of column headers: vendors' and languages' names of quantities, axes and roles.

Tables only; `columns.py` reads headers with them. A word stands in lower case and without accents:
"posición" is "posicion". Words are joined without a space in German and in Chinese ("Lageistwert",
"实际位置"), and in many symbols ("actpos"): `split` takes such a word apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

#: Quantity of a recording to its words in English, German, Italian, French, Spanish, Chinese, then
#: symbols of drives. A command has the words of what it commands.
QUANTITY_WORDS = {
    "t": (
        "t time timestamp clock",
        "zeit zeitstempel",
        "tempo",
        "temps",
        "tiempo",
        "时间 时刻",
    ),
    "q": (
        "q theta th angle pos position phi",
        "winkel lage",
        "posizione angolo quota",
        "angle",
        "posicion angulo",
        "位置 角度 转角",
    ),
    "qd": (
        "qd dq qdot dqdt thetad dtheta thetadot omega vel velo velocity speed rate",
        "geschwindigkeit drehzahl",
        "velocita",
        "vitesse",
        "velocidad",
        "速度 转速",
    ),
    "qdd": (
        "qdd ddq qddot thetadd ddtheta acc accel acceleration alpha",
        "beschleunigung",
        "accelerazione",
        "acceleration",
        "aceleracion",
        "加速度",
    ),
    "tau": (
        "tau torque trq tq effort moment mom",
        "drehmoment momenten",
        "coppia",
        "couple",
        "par momento",
        "力矩 转矩 扭矩",
    ),
    "current": (
        "current cur curr i iq isq amps",
        "strom",
        "corrente",
        "courant",
        "corriente intensidad",
        "电流",
    ),
    "payload": ("payload load", "nutzlast", "carico", "charge", "carga", "负载"),
    "temperature": (
        "temperature temp",
        "temperatur",
        "temperatura",
        "temperature",
        "temperatura",
        "温度",
    ),
}

#: What else a word may say; the lines are languages in the same order.
ROLE_WORDS = {
    # what the controller asked for
    "command": (
        "cmd command commanded set setp setpoint target ref reference des desired demand demanded "
        "nominal action",
        "soll sollwert vorgabe",
        "comando comandata comandato richiesta impostata riferimento",
        "consigne commande",
        "consigna mando deseada deseado ordenada",
        "指令 设定 给定 目标 期望 命令",
    ),
    # what was measured
    "actual": (
        "act actual meas measured fb feedback fbk present observation",
        "ist istwert",
        "reale effettiva effettivo attuale misurata",
        "reel reelle actuelle actuel mesure mesuree",
        "real actual medida medido",
        "实际 反馈 当前 实测",
    ),
    # before the number or the letter of an axis
    "axis": (
        "axis axes ax joint arm drive servo j a carriage slider slide tower",
        "achse achsen gelenk antrieb schlitten",
        "asse giunto azionamento carrello",
        "axe articulation entrainement chariot",
        "eje articulacion accionamiento carro",
        "轴 关节 伺服 驱动 驱动器 滑块 滑台",
    ),
    # the same, and a hint that the value is taken at the motor
    "motor": ("motor m mot", "", "motore", "moteur", "", "电机 马达"),
    # the value is taken behind the gear
    "output": ("output gear load", "abtrieb abtriebs", "uscita", "sortie", "salida", "输出 负载"),
    # says which column of the log it is, not which quantity
    "plain": (
        "value val nc mc main gvl plc to from st ast fb f fl lr lreal robot delta rob state states "
        "data log channel ch stamp line positioning online info param basic meas signal sensor "
        "encoder enc generating producing of the in global g q_axis active unfiltered raw",
        "wert geber bildender kanal",
        "valore di canale del della",
        "valeur de du la canal",
        "valor de del la canal",
        "值 号 编码器 的",
    ),
    # a quantity that a recording does not have
    "other": (
        "error err deviation dev diff difference lag following limit lim max min status jerk "
        "power voltage volt feedforward ff offset gain torqueoffset posdiff lagerror override "
        "force flag enable enabled brake frequency ripple",
        "fehler abweichung schlepp schleppfehler schleppabstand grenze leistung spannung ruck "
        "vorsteuerung kraft",
        "errore inseguimento scostamento limite potenza tensione forza",
        "erreur poursuite ecart puissance tension",
        "seguimiento desviacion potencia fuerza",
        "误差 偏差 跟随 限制 功率 电压 状态",
    ),
}

#: Words for a force: the torque of a carriage, where its axis and a unit of force stand beside it.
FORCES = frozenset(["force", "kraft", "forza", "effort", "fuerza", "力", "推力"])

#: Symbols and numbers of drives to the words they stand for, with the unit that is theirs by
#: definition, "" where the drive's settings choose it. The key is in lower case.
SYMBOLS: dict[str, tuple[str, str]] = {
    # CANopen and EtherCAT drives: objects of CiA 402
    "6064h": ("actual position", ""),
    "6062h": ("command position", ""),
    "607ah": ("command position", ""),
    "606ch": ("actual velocity", ""),
    "6071h": ("command torque", "permille"),
    "6077h": ("actual torque", "permille"),
    "6078h": ("actual current", "permille"),
    "60f4h": ("following error", ""),
    # SERCOS drives
    "s-0-0051": ("actual position", ""),
    "s-0-0047": ("command position", ""),
    "s-0-0040": ("actual velocity", ""),
    "s-0-0080": ("command torque", "permille"),
    "s-0-0084": ("actual torque", "permille"),
    "s-0-0189": ("following error", ""),
    # Siemens SINAMICS
    "r0031": ("actual torque", "Nm"),
    "r0035": ("temperature", "degC"),
    "r0060": ("command speed", "rpm"),
    "r0061": ("actual speed", "rpm"),
    "r0063": ("actual speed", "rpm"),
    "r0068": ("actual current", "A"),
    "r0078": ("actual current", "A"),
    "r0079": ("command torque", "Nm"),
    "r0080": ("actual torque", "Nm"),
    "r0081": ("actual torque", "percent"),
    "r2521": ("actual position", ""),
    "r2563": ("following error", ""),
    # B&R ACOPOS
    "pctrl_s_act": ("actual position", ""),
    "pctrl_s_set": ("command position", ""),
    "pctrl_lag_error": ("following error", ""),
    "encod_s_act": ("actual position", ""),
    "sctrl_speed_act": ("actual speed", "rev/s"),
    "sctrl_speed_ref": ("command speed", "rev/s"),
    "ictrl_isq_act": ("actual current", "A"),
    "ictrl_isq_ref": ("command current", "A"),
    "torque_act": ("actual torque", "Nm"),
    "temp_motor": ("temperature", "degC"),
    # Elmo: two letters of the drive's command language
    "px": ("actual position", "counts"),
    "vx": ("actual velocity", "counts/s"),
    "pe": ("following error", ""),
    # short forms of KEBA's and others' drives
    "i_q": ("current", ""),
    "iqact": ("actual current", ""),
    "isqact": ("actual current", ""),
    "isqref": ("command current", ""),
    "n_act": ("actual speed", ""),
    "n_ist": ("actual speed", ""),
    "n_ref": ("command speed", ""),
    "n_soll": ("command speed", ""),
    "nact": ("actual speed", ""),
    "nist": ("actual speed", ""),
    "nref": ("command speed", ""),
    "nsoll": ("command speed", ""),
    "m_act": ("actual torque", ""),
    "m_ist": ("actual torque", ""),
    "m_ref": ("command torque", ""),
    "m_soll": ("command torque", ""),
    "mact": ("actual torque", ""),
    "mist": ("actual torque", ""),
    "mref": ("command torque", ""),
    "msoll": ("command torque", ""),
}

#: Units of quantities that a recording does not have, for a row of units below the names.
OTHER_UNITS = "V mV W kW Hz kHz bar N kN bool int uint dint real lreal / none m/s mm/s m/s^2"


def _table(lines: Mapping[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    return {name: frozenset(" ".join(words).split()) for name, words in lines.items()}


QUANTITIES = _table(QUANTITY_WORDS)
ROLES = _table(ROLE_WORDS)
KNOWN = frozenset().union(*QUANTITIES.values(), *ROLES.values())

_SHORTEST = 3  # letters of a part of a joined word; a Chinese part may have one
_JOINTS = ("", "n", "s", "en")  # between the parts of a German word
_OBJECT = re.compile(r"(?:0x|#x)?(60[0-9a-f]{2})(?:h|\b)", re.IGNORECASE)
_PARAMETER = re.compile(r"\br0*(\d{2,4})(?:\[\d+\])?(?!\d)", re.IGNORECASE)


def plain(text: str) -> str:
    """The text without accents."""
    parts = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


@lru_cache(maxsize=4096)
def split(word: str) -> tuple[str, ...]:
    """The known words that a joined word is made of; the word itself where it is none.

    Of several ways the one with the fewest parts is taken.
    """
    if word in KNOWN:
        return (word,)
    # best[i]: the parts of the first i letters
    best: list[tuple[str, ...] | None] = [()] + [None] * len(word)
    for stop in range(1, len(word) + 1):
        for start in range(stop):
            before = best[start]
            if before is None or not _is_part(word[start:stop]):
                continue
            found = (*before, word[start:stop])
            for joint in _JOINTS:
                end = stop + len(joint)
                if word[stop:end] != joint or end > len(word):
                    continue
                other = best[end]
                if other is None or len(found) < len(other):
                    best[end] = found
    return best[-1] or (word,)


def _is_part(text: str) -> bool:
    return text in KNOWN and (len(text) >= _SHORTEST or not text.isascii())


@lru_cache(maxsize=4096)
def symbol(text: str) -> tuple[str, str, str] | None:
    """(symbol, text with the words for it, its unit) of a header with a drive's symbol."""
    shown = _OBJECT.sub(lambda match: f"{match[1]}h", text)
    shown = _PARAMETER.sub(lambda match: f"r{int(match[1]):04d}", shown)
    for name, (words, unit) in SYMBOLS.items():
        found = re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z])", shown, re.IGNORECASE)
        if found is not None:
            return name, f"{shown[: found.start()]} {words} {shown[found.end() :]}", unit
    return None
