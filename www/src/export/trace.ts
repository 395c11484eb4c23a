/** Schedules as a trace in the Trace Event Format, which Perfetto and speedscope open. */
import { KIND_NAMES } from "../kinds.ts";
import type { Schedule } from "../timeline/schedule.ts";

/** Microseconds of a unit of the schedule; an order without times has a microsecond for each operator. */
const MICROSECONDS: Record<Schedule["unit"], number> = { ms: 1000, operators: 1 };

type TraceEvent = Record<string, unknown>;

/** Each schedule is a process, each lane a thread, and memory a counter. */
export function traceOf(file: string, schedules: readonly Schedule[]): string {
  const traceEvents = schedules.flatMap((schedule, i) => eventsOf(schedule, i + 1));
  return JSON.stringify({ traceEvents, displayTimeUnit: "ns", otherData: { file, tool: "LiteCast", estimated: "operators run one after the other" } });
}

function eventsOf(schedule: Schedule, pid: number): TraceEvent[] {
  const { name, names, kinds, lanes, lane, starts, ends, memory, memory_name, unit, stretches, traffic_bytes } = schedule;
  const scale = MICROSECONDS[unit];
  const name_of = (kind: string, tid: number, words: string): TraceEvent => ({ ph: "M", pid, tid, name: kind, args: { name: words } });
  const reasons = new Map(stretches.flatMap(({ first, last, reasons }) => Array.from({ length: last - first + 1 }, (_, i) => [first + i, reasons.join("; ")] as const)));
  return [
    name_of("process_name", 0, name),
    ...lanes.map((words, tid) => name_of("thread_name", tid, words)),
    ...names.map((operator, i): TraceEvent => ({ ph: "X", pid, tid: lane[i], name: operator, cat: KIND_NAMES[kinds[i]], ts: starts[i] * scale, dur: (ends[i] - starts[i]) * scale, args: { operator: i, ...(memory[i] > 0 ? { live_bytes: memory[i] } : {}), ...(traffic_bytes ? { offchip_bytes: traffic_bytes[i] } : {}), ...(reasons.has(i) ? { reason: reasons.get(i) } : {}) } })),
    ...names.flatMap((_, i): TraceEvent[] => (memory[i] >= 0 ? [{ ph: "C", pid, tid: 0, name: memory_name, ts: starts[i] * scale, args: { bytes: memory[i] } }] : [])),
  ];
}
