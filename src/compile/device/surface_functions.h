// surface_functions.h - is not there.
#error "<surface_functions.h>: surfaces are not supported on the embedded device"
