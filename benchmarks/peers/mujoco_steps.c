/* MuJoCo's own stepping of the closed robot under PD and feedforward, timed.
 *
 * usage: MODEL NUMBERS SETTINGS INTEGRATOR ROUNDS STATES. NUMBERS holds doubles: coordinates, axes,
 * ticks, the axes' addresses, gains, qpos and qvel of the start, then the tables of reference, rates
 * and torque fed forward, each (ticks, axes). Prints the seconds per step; of every piece of the run
 * the quickest of all rounds counts, so that other processes on the machine disturb little.
 * STATES gets q, qd, the torque and MuJoCo's acceleration of every tick, which is not timed.
 */
#define _POSIX_C_SOURCE 200809L
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  int coordinates, axes, ticks, address[4];
  const double *gains, *qpos, *qvel, *reference, *rates, *forward;
} task;

static int fail(const char *what, const char *which) {
  fprintf(stderr, "error: %s %s\n", what, which);
  return 2;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { PIECE = 200, MOST_PIECES = 1000 }; /* ticks */

static double *read_all(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) return NULL;
  *count = (size_t)ftell(file) / sizeof(double);
  rewind(file);
  double *all = malloc(*count * sizeof(double));
  if (all && fread(all, sizeof(double), *count, file) != *count) all = NULL;
  fclose(file);
  return all;
}

static int read_task(const char *path, task *t) {
  size_t count = 0;
  const double *all = read_all(path, &count);
  if (!all || count < 3) return fail("cannot read", path);
  t->coordinates = (int)all[0], t->axes = (int)all[1], t->ticks = (int)all[2];
  const size_t n = (size_t)t->axes, c = (size_t)t->coordinates, table = n * (size_t)t->ticks;
  if (n > 4 || count != 3 + 3 * n + 2 * c + 3 * table) return fail("wrong size of", path);
  for (size_t i = 0; i < n; i++) t->address[i] = (int)all[3 + i];
  t->gains = all + 3 + n;
  t->qpos = t->gains + 2 * n;
  t->qvel = t->qpos + c;
  t->reference = t->qvel + c;
  t->rates = t->reference + table;
  t->forward = t->rates + table;
  return 0;
}

static void start(const mjModel *model, mjData *data, const task *t) {
  mj_resetData(model, data);
  memcpy(data->qpos, t->qpos, sizeof(double) * (size_t)t->coordinates);
  memcpy(data->qvel, t->qvel, sizeof(double) * (size_t)t->coordinates);
}

static void command(mjData *data, const task *t, int k) {
  for (int i = 0; i < t->axes; i++) {
    const int a = t->address[i], at = k * t->axes + i;
    data->qfrc_applied[a] = t->forward[at] + t->gains[i] * (t->reference[at] - data->qpos[a])
                            + t->gains[t->axes + i] * (t->rates[at] - data->qvel[a]);
  }
}

/* MuJoCo's defaults of constraints and solver instead of the model's accurate ones. */
static void use_defaults(mjModel *model) {
  mjOption plain;
  mj_defaultOption(&plain);
  model->opt.tolerance = plain.tolerance;
  model->opt.iterations = plain.iterations;
  model->opt.solver = plain.solver;
  for (int i = 0; i < model->neq; i++) {
    const double solref[] = {0.02, 1}, solimp[] = {0.9, 0.95, 0.001, 0.5, 2};
    memcpy(model->eq_solref + mjNREF * i, solref, sizeof solref);
    memcpy(model->eq_solimp + mjNIMP * i, solimp, sizeof solimp);
  }
}

static int write_states(const mjModel *model, mjData *data, const task *t, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file) return fail("cannot write", path);
  start(model, data, t);
  for (int k = 0; k < t->ticks; k++) {
    command(data, t, k);
    mj_forward(model, data);
    const double *columns[] = {data->qpos, data->qvel, data->qfrc_applied, data->qacc};
    for (int c = 0; c < 4; c++)
      for (int i = 0; i < t->axes; i++) fwrite(columns[c] + t->address[i], sizeof(double), 1, file);
    mj_step(model, data);
  }
  return fclose(file) ? fail("cannot write", path) : 0;
}

int main(int count, char **words) {
  char error[500] = "";
  task t;
  if (count != 7) return fail("usage: MODEL NUMBERS SETTINGS INTEGRATOR ROUNDS STATES, not", words[0]);
  mjModel *model = mj_loadXML(words[1], NULL, error, sizeof error);
  if (!model) return fail("MuJoCo:", error);
  if (read_task(words[2], &t)) return 2;
  if (t.coordinates != model->nq || model->nq != model->nv) return fail("another model:", words[1]);
  if (!strcmp(words[3], "default")) use_defaults(model);
  model->opt.integrator = !strcmp(words[4], "Euler")          ? mjINT_EULER
                          : !strcmp(words[4], "implicitfast") ? mjINT_IMPLICITFAST
                                                              : mjINT_RK4;
  mjData *data = mj_makeData(model);
  if (!data) return fail("MuJoCo:", "no memory");
  static double best[MOST_PIECES];
  const int pieces = (t.ticks + PIECE - 1) / PIECE, rounds = atoi(words[5]);
  if (pieces > MOST_PIECES || rounds < 1) return fail("too many ticks, or no round:", words[5]);
  double seconds = 0;
  for (int round = 0; round < rounds; round++) {
    start(model, data, &t);
    for (int piece = 0; piece < pieces; piece++) {
      const double began = now();
      for (int k = piece * PIECE; k < (piece + 1) * PIECE && k < t.ticks; k++) {
        command(data, &t, k);
        mj_step(model, data);
      }
      const double took = now() - began;
      best[piece] = round == 0 || took < best[piece] ? took : best[piece];
    }
  }
  for (int piece = 0; piece < pieces; piece++) seconds += best[piece];
  printf("%.17g\n", seconds / t.ticks);
  return write_states(model, data, &t, words[6]);
}
