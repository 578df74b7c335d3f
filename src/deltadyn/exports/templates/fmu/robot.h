$head
#ifndef DELTADYN_ROBOT_H
#define DELTADYN_ROBOT_H

${kind}#define TOKEN "@TOKEN@"
#define DOF $dof
#define KERNEL(name) deltadyn_##name##_$dof

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

$robot
$sign
$offset
$start
static const Variable VARIABLES[$reals] = {
$table
};

#endif
