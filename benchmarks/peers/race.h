/* What both peers do alike: read the states, give the torques, then run and say how long.
 *
 * Before this file a peer defines `coordinates` (length of qpos), `place` (its coordinates from the
 * closed forms) and `tree_forces` (its inverse dynamics, rotors included).
 *
 *   program NUMBERS TORQUES [MODEL]
 *
 * Torques of both ways go to TORQUES. Then every line "whole" or "open" on the input runs that way
 * once over all states, block after block, and prints the seconds per state of the fastest block. A
 * block takes about as long as one pass of ours: on a busy machine a longer one would be disturbed
 * more often, and the peer would look slower than it is.
 */
#ifndef DELTADYN_BENCH_RACE_H
#define DELTADYN_BENCH_RACE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK 400 /* states */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double *doubles(size_t count) {
  double *made = (double *)calloc(count ? count : 1, sizeof(double));
  if (!made) exit(3);
  return made;
}

typedef struct {
  robot_numbers robot;
  int dof, joints;
  size_t count;
  double *states;     /* p, pd, pdd */
  double *given;      /* qpos, qvel, qacc of the tree: free for "open" */
  double *projection; /* (dof, joints), and the torque of what is no tree: free for "open" */
  double *tau;
} race;

/* From p, pd, pdd to the torques: closure, engine, projection. */
static void whole(race *r, size_t first, size_t end) {
  closed_state x;
  double force[MOST_JOINTS];
  for (size_t k = first; k < end; k++) {
    const double *state = r->states + 3 * r->dof * k;
    close_state(&r->robot, r->dof, state, &x);
    place(&x, r->dof, NULL);
    tree_forces(&r->robot, r->dof, NULL, force);
    project(&r->robot, r->dof, state, &x, force, r->tau + r->dof * k);
  }
}

/* The engine and one product alone; all else was made before. */
static void open_tree(race *r, size_t first, size_t end) {
  double force[MOST_JOINTS];
  const int n = r->joints, width = coordinates(r->dof) + 2 * n;
  for (size_t k = first; k < end; k++) {
    const double *row = r->projection + (size_t)r->dof * (n + 1) * k;
    tree_forces(&r->robot, r->dof, r->given + (size_t)width * k, force);
    for (int i = 0; i < r->dof; i++, row += n + 1) {
      double sum = row[n];
      for (int j = 0; j < n; j++) sum += row[j] * force[j];
      r->tau[r->dof * k + i] = sum;
    }
  }
}

/* Coordinates of the tree and the projection as a matrix: `project` is linear in the forces. */
static void prepare(race *r) {
  const int n = r->joints, dof = r->dof, width = coordinates(dof) + 2 * n;
  r->given = doubles((size_t)width * r->count);
  r->projection = doubles((size_t)dof * (n + 1) * r->count);
  for (size_t k = 0; k < r->count; k++) {
    const double *state = r->states + 3 * dof * k;
    double *rows = r->projection + (size_t)dof * (n + 1) * k;
    double unit[MOST_JOINTS] = {0}, none[4], tau[4];
    closed_state x;
    close_state(&r->robot, dof, state, &x);
    place(&x, dof, r->given + (size_t)width * k);
    project(&r->robot, dof, state, &x, unit, none);
    for (int i = 0; i < dof; i++) rows[(n + 1) * i + n] = none[i];
    for (int j = 0; j < n; j++) {
      unit[j] = 1.0;
      project(&r->robot, dof, state, &x, unit, tau);
      unit[j] = 0.0;
      for (int i = 0; i < dof; i++) rows[(n + 1) * i + j] = tau[i] - none[i];
    }
  }
}

static int fail(const char *what, const char *name) {
  fprintf(stderr, "%s %s\n", what, name);
  return 2;
}

static int read_race(race *r, const char *name) {
  FILE *file = fopen(name, "rb");
  if (!file) return fail("cannot read", name);
  if (fread(&r->robot, sizeof r->robot, 1, file) != 1) return fail("too short:", name);
  r->dof = (int)r->robot.dof;
  r->count = (size_t)r->robot.count;
  r->joints = LEGS * LIMB_JOINTS + (HAS_SPINDLE(r->dof) ? SPINDLE_JOINTS : 0);
  r->states = doubles(3 * r->dof * r->count);
  r->tau = doubles(r->dof * r->count);
  if (fread(r->states, 3 * sizeof(double) * r->dof, r->count, file) != r->count)
    return fail("too short:", name);
  fclose(file);
  return 0;
}

static double fastest_block(race *r, void (*way)(race *, size_t, size_t)) {
  double best = INFINITY;
  for (size_t first = 0; first < r->count; first += BLOCK) {
    const size_t end = first + BLOCK < r->count ? first + BLOCK : r->count;
    const double start = now();
    way(r, first, end);
    const double each = (now() - start) / (double)(end - first);
    if (each < best) best = each;
  }
  return best;
}

static int run_race(race *r, const char *torques) {
  char line[16];
  FILE *file = fopen(torques, "wb");
  if (!file) return fail("cannot write", torques);
  prepare(r);
  whole(r, 0, r->count);
  fwrite(r->tau, sizeof(double), r->dof * r->count, file);
  memset(r->tau, 0, sizeof(double) * r->dof * r->count);
  open_tree(r, 0, r->count);
  fwrite(r->tau, sizeof(double), r->dof * r->count, file);
  fclose(file);
  printf("ready\n");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    if (strcmp(line, "whole\n") == 0) printf("%.9g\n", fastest_block(r, whole));
    else if (strcmp(line, "open\n") == 0) printf("%.9g\n", fastest_block(r, open_tree));
    else return fail("unknown way", line);
    fflush(stdout);
  }
  return 0;
}

#endif
