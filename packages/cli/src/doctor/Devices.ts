/** Checks the compute devices: the CPU, and GPUs through WebGPU or CUDA; each is tried in a separate process. */
import * as Device from "@atropos/trainer/exec/Device"
import { Effect } from "effect"
import { broken, type Finding, note, ok } from "./Finding.ts"

const check = (kind: Device.Trial["kind"]) => `device ${kind}`

const finding = (trial: Device.Trial): Finding => {
  if (trial.works) return ok(check(trial.kind), `${Device.describe(trial.kind)}: ${Device.speed(trial.gflops)}`)
  // Training and the local policy server run on the CPU everywhere; a GPU is optional.
  return trial.kind === "cpu"
    ? broken(check(trial.kind), trial.why, trial.advice)
    : note(check(trial.kind), trial.why, trial.advice)
}

/** Checks every device, and names the one that `--device auto` selects. */
export const devices: Effect.Effect<ReadonlyArray<Finding>> = Effect.gen(function* () {
  // Sequentially: parallel trials would slow each other down.
  const trials = yield* Effect.forEach(["cpu", "webgpu", "cuda"] as const, (kind) => Device.trial(kind))
  return [...trials.map(finding), ok("--device auto", `uses ${Device.best(trials).kind}, the fastest that works`)]
})
