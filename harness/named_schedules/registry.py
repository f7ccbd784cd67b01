"""All named schedules, in the order in which they are best read."""

from harness.named_schedules.flash import flash_final_division, flash_kv_outer, flash_q_outer
from harness.named_schedules.matmul import matmul
from harness.named_schedules.naive import naive, naive_published
from harness.named_schedules.named import NamedSchedule
from harness.named_schedules.projections import multi_query, split_head

SCHEDULES: dict[str, NamedSchedule] = {
    schedule.name: schedule
    for schedule in (
        matmul(),
        naive_published(),
        naive(),
        flash_kv_outer(),
        flash_q_outer(),
        flash_final_division(),
        split_head(),
        multi_query(),
    )
}
