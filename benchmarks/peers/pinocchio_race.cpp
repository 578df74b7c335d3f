// Pinocchio's inverse dynamics of the open tree: rnea. Of its joints those that are fastest here:
// drives that take cosine and sine, so that no angle is made and none is taken apart again, and
// universal joints, which save a joint each and take angles.
//
// The four limits are what Pinocchio's own build files ask of its users.
#define BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS
#define BOOST_MPL_LIMIT_LIST_SIZE 30
#define BOOST_MPL_LIMIT_VECTOR_SIZE 30
#define BOOST_FUSION_INVOKE_MAX_ARITY 12
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <string>

#include "closure.h"

namespace pin = pinocchio;
using Eigen::Matrix3d;
using Eigen::Vector3d;

static pin::Model model;
static pin::Data *data;
static Eigen::VectorXd position, rate, acceleration;

static int joints(int dof) {
  return LEGS * LIMB_JOINTS + (HAS_SPINDLE(dof) ? SPINDLE_JOINTS : 0);
}

// an arm has two, in a plane its strut too; so has the drive of psi
static int coordinates(int dof) {
  const int doubled = (LIMBS == RAILS ? 0 : 1) + (PLATFORM == PLANE ? 1 : 0);
  return joints(dof) + doubled * LEGS + (HAS_SPINDLE(dof) ? 1 : 0);
}

static void put_drive(const turn &t, double *&q, double *&v, double *&a) {
  *q++ = t.c, *q++ = t.s, *v++ = t.rate, *a++ = t.acc;
}

static void put(double angle, const turn &t, double sign, double *&q, double *&v, double *&a) {
  *q++ = sign * angle, *v++ = sign * t.rate, *a++ = sign * t.acc;
}

static double angle(const turn &t) { return atan2(t.s, t.c); }

static void place(const closed_state *x, int dof, double *given) {
  const int width = coordinates(dof), n = joints(dof);
  double *q = given ? given : position.data(), *v = given ? given + width : rate.data();
  double *a = given ? given + width + n : acceleration.data();
  for (const limb_state &limb : x->limb) {
#if LIMBS == RAILS
    *q++ = limb.theta.c, *v++ = limb.theta.rate, *a++ = limb.theta.acc;
#else
    put_drive(limb.theta, q, v, a);
#endif
#if PLATFORM == PLANE
    put_drive(limb.elbow, q, v, a);
#else
    put(angle(limb.elbow), limb.elbow, 1, q, v, a);
    put(angle(limb.sway), limb.sway, 1, q, v, a);
#endif
  }
  if (HAS_SPINDLE(dof)) {
    const spindle_state &s = x->spindle;
    const double fork = angle(s.fork), cross = angle(s.cross);
    put_drive(s.psi, q, v, a);
    put(fork, s.fork, 1, q, v, a);
    put(cross, s.cross, 1, q, v, a);
    *q++ = s.slide, *v++ = s.slide_rate, *a++ = s.slide_acc;
    put(cross, s.cross, -1, q, v, a);
    put(fork, s.fork, -1, q, v, a);
  }
}

static void tree_forces(const robot_numbers *, int dof, const double *given, double *force) {
  const int width = coordinates(dof), n = joints(dof);
  if (given) {
    position = Eigen::Map<const Eigen::VectorXd>(given, width);
    rate = Eigen::Map<const Eigen::VectorXd>(given + width, n);
    acceleration = Eigen::Map<const Eigen::VectorXd>(given + width + n, n);
  }
  pin::rnea(model, *data, position, rate, acceleration);
  for (int i = 0; i < n; i++) force[i] = data->tau[i];
}

#include "race.h"

static pin::SE3 shift(double x, double z) {
  return pin::SE3(Matrix3d::Identity(), Vector3d(x, 0, z));
}

template <typename Joint>
static pin::JointIndex add(pin::JointIndex parent, const Joint &joint, const pin::SE3 &placement) {
  return model.addJoint(parent, joint, placement, "joint_" + std::to_string(model.njoints));
}

static void hang(pin::JointIndex joint, const body_numbers &b) {
  const double *i = b.inertia;
  Matrix3d inertia;
  inertia << i[0], i[3], i[5], i[3], i[1], i[4], i[5], i[4], i[2];
  const Vector3d com(b.com[0], b.com[1], b.com[2]);
  model.appendBodyToJoint(joint, pin::Inertia(b.mass, com, inertia), pin::SE3::Identity());
}

static void build(const robot_numbers &r) {
  model.gravity.linear() = Vector3d(0, 0, -r.gravity);
  for (int i = 0; i < LEGS; i++) {
    const limb_shape &g = r.limb[i];
    Matrix3d turned;
#if LIMBS == STANDARD
    turned << g.ca, -g.sa, 0, g.sa, g.ca, 0, 0, 0, 1;
    const Vector3d shoulder(g.shoulder * g.ca, g.shoulder * g.sa, 0);
#else
    for (int k = 0; k < 9; k++) turned(k % 3, k / 3) = g.axes[k / 3][k % 3];
    const Vector3d shoulder(g.base[0], g.base[1], g.base[2]);
#endif
#if LIMBS == RAILS
    const auto arm = add(0, pin::JointModelPZ(), pin::SE3(turned, shoulder));
#else
    const auto arm = add(0, pin::JointModelRUBY(), pin::SE3(turned, shoulder));
#endif
    hang(arm, r.body[2 * i]);
#if PLATFORM == PLANE
    hang(add(arm, pin::JointModelRUBY(), shift(g.l1, 0)), r.body[2 * i + 1]);
#else
    const pin::JointModelUniversal swing_and_sway(Vector3d(0, 1, 0), Vector3d(0, 0, 1));
    hang(add(arm, swing_and_sway, shift(g.l1, 0)), r.body[2 * i + 1]);
#endif
  }
  if (HAS_SPINDLE(r.dof)) {
    Matrix3d downward;  // axes b, v x b, v of the hanging rod; its own inverse
    downward << 0, -1, 0, -1, 0, 0, 0, 0, -1;
    const pin::SE3 to_rod(downward, Vector3d::Zero());
    const pin::JointModelUniversal universal(Vector3d(0, -1, 0), Vector3d(1, 0, 0));
    auto joint = add(0, pin::JointModelRUBZ(), shift(0, r.upper_z));
    joint = add(joint, universal, to_rod);
    hang(joint, r.body[6]);
    joint = add(joint, pin::JointModelPZ(), pin::SE3::Identity());
    hang(joint, r.body[7]);
    hang(add(joint, universal, to_rod), r.body[8]);
  }
  for (int i = 0; i < r.dof; i++) model.armature[LIMB_JOINTS * i] = r.rotor[i];
}

int main(int count, char **words) {
  static race r;
  if (count != 3) return fail("usage: NUMBERS TORQUES, not", words[0]);
  if (read_race(&r, words[1])) return 2;
  build(r.robot);
  pin::Data made(model);
  data = &made;
  if (model.nv != r.joints || model.nq != coordinates(r.dof)) {
    return fail("another tree than expected:", words[1]);
  }
  position.setZero(model.nq), rate.setZero(model.nv), acceleration.setZero(model.nv);
  return run_race(&r, words[2]);
}
