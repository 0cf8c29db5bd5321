/**
 * Settings of every session, with measurements (2 cores, ONNX Runtime 1.30).
 *
 * - No prepacking by default: it would hold weights twice.
 * - No memory pattern: it doubles memory for long sequences.
 * - Threads that wait for each other inside a run spin for 10 microseconds, then sleep. By default they spin for the
 *   whole run: a third faster if nothing else needs the cores, two to three times slower otherwise (`docs/gpu.md`).
 * - No logging: errors contain the cause.
 */
import { availableParallelism } from "node:os"
import type * as Ort from "onnxruntime-common"
import type { DeviceKind, LoadOptions } from "./Executor.ts"

export interface RuntimeOptions {
  readonly device: DeviceKind
  /** Threads of the CPU device; 0: one per core. */
  readonly threads: number
}

export const options = (
  { device, threads }: RuntimeOptions,
  { optimization = "all", prepack = false, stay = [] }: LoadOptions,
  folder: string | undefined
): Ort.InferenceSession.SessionOptions => ({
  executionProviders: device === "cpu" ? ["cpu"] : [device, "cpu"],
  logSeverityLevel: 4,
  enableMemPattern: false,
  executionMode: "sequential",
  graphOptimizationLevel: optimization,
  intraOpNumThreads: threads > 0 ? threads : availableParallelism(),
  ...(device === "webgpu" &&
    stay.length > 0 && { preferredOutputLocation: Object.fromEntries(stay.map((name) => [name, "gpu-buffer"])) }),
  extra: {
    session: {
      disable_prepacking: prepack ? "0" : "1",
      intra_op: { spin_duration_us: "10" },
      ...(folder !== undefined && { model_external_initializers_file_folder_path: folder })
    }
  }
})
