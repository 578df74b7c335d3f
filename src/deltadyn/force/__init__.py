"""External force on the platform, contact and its cause, from angles and torques."""

from deltadyn.force.contact import Contact
from deltadyn.force.observer import ForceObserver
from deltadyn.force.offline import ForceLog, find_contacts
from deltadyn.force.settings import ForceOptions
from deltadyn.force.tare import Tare

__all__ = ["Contact", "ForceLog", "ForceObserver", "ForceOptions", "Tare", "find_contacts"]
