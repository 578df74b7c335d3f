
/**
 * Runs an estimator over a built-in motion of @test_samples@ samples in which a load is picked and
 * released, and compares it with the package's own at @test_checks@ check points. 0: all agree; else
 * the number of the first that does not, from 1. `error` is the largest difference of a mass or
 * deviation in kg. `state` is used for the run and is as after init.
 */
int @id@_payload_self_test(@id@_payload *state, @id@_real *error);
