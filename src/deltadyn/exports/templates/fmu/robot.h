$head
#ifndef DELTADYN_ROBOT_H
#define DELTADYN_ROBOT_H

${kind}#define TOKEN "@TOKEN@"
#define DOF $dof
#define LEGS $legs
#define SPINDLE $spindle
#define HALVES $halves
#define KERNEL(name) deltadyn_##name##${limbs}_$dof
#define LIMBS(name) deltadyn_##name$pasted
#define DRIVES(name) deltadyn_##name##_$dof
#define KERNEL_CHANGE(name) deltadyn_##name##${limbs}_${dof}_change
#define LIMBS_CHANGE(name) deltadyn_##name##${limbs}_change
#define DRIVES_CHANGE(name) deltadyn_##name##_${dof}_change
${passive}#define JOINT_OF(cosine, sine) $joint /* the coordinate of a limb */
#define JOINT_CHANGE(cosine, sine, dcosine, dsine) $joint_change

/* Value references. */
enum {
$places,
    REALS = $reals
};

/* Places in ROBOT, as the generated functions read it. */
enum {
$layout,
    PAR_COUNT = $count
};

$elbow$robot
$sign
$offset
$start
static const Variable VARIABLES[$reals] = {
$table
};

/* Texts that can be read: what this is, for whoever asks at run time. */
enum { STRINGS = $strings };
static const char *const IDENTITY[STRINGS] = {
$texts
};

/* Motions with the package's own answers. Of the plant q, qd, tau, then qdd; of the inverse model
 * p, pd, pdd, then tau. */
enum { CHECKS = $checks };
#define CHECK_TOLERANCE $tolerance
static const real CHECK_POINTS[CHECKS][4 * DOF] = {
$points
};

#endif
