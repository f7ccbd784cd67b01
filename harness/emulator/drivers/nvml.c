/* A stand-in for libnvidia-ml.so: what this harness asks NVIDIA's management library for, of a device that is never
 * slowed down.  Its energy is that of a constant power, so that a counter grows with time as a real one does.
 */
#include "device.h"

#define EMULATED_CLOCK_MHZ 1980
#define EMULATED_TEMPERATURE_C 40
#define EMULATED_POWER_W 300

enum { NVML_SUCCESS = 0 };

static const char *const no_error = "success";

EXPORT int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    return NVML_SUCCESS;
}

EXPORT int nvmlShutdown(void) { return NVML_SUCCESS; }

EXPORT const char *nvmlErrorString(int error) {
    (void)error;
    return no_error;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
    (void)bus;
    *device = any_handle();
    return NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *megahertz) {
    (void)device, (void)kind;
    *megahertz = EMULATED_CLOCK_MHZ;
    return NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) {
    (void)device;
    *reasons = 0;
    return NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees) {
    (void)device, (void)sensor;
    *degrees = EMULATED_TEMPERATURE_C;
    return NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
    (void)device;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *millijoules = (unsigned long long)now.tv_sec * (EMULATED_POWER_W * 1000ull) +
                   (unsigned long long)now.tv_nsec * EMULATED_POWER_W / 1000000ull;
    return NVML_SUCCESS;
}
