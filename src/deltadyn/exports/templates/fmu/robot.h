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
${passive}#define JOINT_OF(cosine, sine) $joint /* the coordinate of a limb */

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

#endif
