/* What the checks have found, in memory that outlives the process that found it. */
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

LaunchOutcome *outcome;
int checks_within_warps;

void open_findings(LaunchOutcome *where, int strict_within_warps) {
    outcome = where;
    checks_within_warps = strict_within_warps;
}

Finding *count_finding(LaunchOutcome *where, int kind, int site, uint64_t count) {
    int of_kind = 0;
    for (int i = 0; i < where->finding_count; i++) {
        Finding *finding = &where->findings[i];
        if (finding->kind != kind) continue;
        if (finding->site == site) {
            finding->count += count;
            return NULL;
        }
        of_kind++;
    }
    if (of_kind == FINDINGS_PER_KIND || where->finding_count == MAXIMUM_FINDINGS) return NULL;
    return &where->findings[where->finding_count++];
}

void report(FindingKind kind, const Lane *lane, const char *message, ...) {
    int site = lane ? lane->site : -1;
    Finding *finding = count_finding(outcome, kind, site, 1);
    if (!finding) return;
    *finding = (Finding){.kind = kind, .site = site, .thread = -1, .lane = -1, .warp = -1, .count = 1};
    if (lane) {
        finding->thread = lane->thread;
        finding->lane = lane->index;
        finding->warp = lane->warp->index;
    }
    memcpy(finding->workgroup, launch.workgroup, sizeof finding->workgroup);
    va_list values;
    va_start(values, message);
    vsnprintf(finding->message, sizeof finding->message, message, values);
    va_end(values);
}

void count_clamped(Clamped kind, const Lane *lane) {
    (void)lane;
    outcome->clamped[kind]++;
}
