/* MuJoCo's inverse dynamics of the open tree, with no more of its pipeline than mj_rne needs. */
#define _POSIX_C_SOURCE 200809L
#include <mujoco/mujoco.h>

#include "closure.h"

static mjModel *model;
static mjData *data;

static int coordinates(int dof) {
  return LEGS * LIMB_JOINTS + (HAS_SPINDLE(dof) ? SPINDLE_JOINTS : 0);
}

static void put(const turn *t, int k, double sign, double *q, double *v, double *a) {
  q[k] = sign * atan2(t->s, t->c), v[k] = sign * t->rate, a[k] = sign * t->acc;
}

/* Into the given array of positions, rates and accelerations, or into MuJoCo's own. */
static void place(const closed_state *x, int dof, double *given) {
  const int n = coordinates(dof);
  double *q = given ? given : data->qpos, *v = given ? given + n : data->qvel;
  double *a = given ? given + 2 * n : data->qacc;
  for (int i = 0; i < LEGS; i++) {
    const int k = LIMB_JOINTS * i;
#if LIMBS == RAILS
    const turn *t = &x->limb[i].theta;
    q[k] = t->c, v[k] = t->rate, a[k] = t->acc;
#else
    put(&x->limb[i].theta, k, 1, q, v, a);
#endif
    put(&x->limb[i].elbow, k + 1, 1, q, v, a);
    if (LIMB_JOINTS == 3) put(&x->limb[i].sway, k + 2, 1, q, v, a);
  }
  if (HAS_SPINDLE(dof)) {
    const spindle_state *s = &x->spindle;
    q[9] = s->angle, v[9] = s->psi.rate, a[9] = s->psi.acc;
    put(&s->fork, 10, 1, q, v, a);
    put(&s->cross, 11, 1, q, v, a);
    q[12] = s->slide, v[12] = s->slide_rate, a[12] = s->slide_acc;
    q[13] = -q[11], v[13] = -v[11], a[13] = -a[11];
    q[14] = -q[10], v[14] = -v[10], a[14] = -a[10];
  }
}

static void tree_forces(const robot_numbers *robot, int dof, const double *given, double *force) {
  const int n = coordinates(dof);
  if (given) {
    for (int i = 0; i < n; i++) {
      data->qpos[i] = given[i], data->qvel[i] = given[n + i], data->qacc[i] = given[2 * n + i];
    }
  }
  mj_kinematics(model, data);
  mj_comPos(model, data);
  mj_comVel(model, data);
  mj_rne(model, data, 1, force);
  /* mj_rne leaves the rotors to its caller */
  for (int i = 0; i < dof; i++)
    force[LIMB_JOINTS * i] += robot->rotor[i] * data->qacc[LIMB_JOINTS * i];
}

#include "race.h"

/* An inertia of 0 is what a thin strut has; MuJoCo's compiler wants some, its algorithms do not. */
static void drop_smallest_inertias(void) {
  for (int i = 0; i < 3 * model->nbody; i++) {
    if (model->body_inertia[i] <= 1.0001e-14) model->body_inertia[i] = 0;
  }
}

int main(int count, char **words) {
  static race r;
  char error[500] = "";
  if (count != 4) return fail("usage: NUMBERS TORQUES MODEL, not", words[0]);
  if (read_race(&r, words[1])) return 2;
  model = mj_loadXML(words[3], NULL, error, sizeof error);
  if (!model) return fail("MuJoCo:", error);
  drop_smallest_inertias();
  data = mj_makeData(model);
  if (!data || model->nq != r.joints) return fail("another tree than expected:", words[3]);
  return run_race(&r, words[2]);
}
