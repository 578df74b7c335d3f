
#ifndef DELTADYN_EXPORT_@export_fingerprint@
#error "@file@.h is of another export than this file: robot or options differ; take all files of one"
#endif
