/**
 * Cost of a step of the PyTorch engine next to a plain loop over PyTorch and PEFT with the same objective, alternating:
 *
 *     ATROPOS_ORIGINAL_PYTHON=… node --conditions=atropos-src bench/trainer/Torch.ts MODEL [OPTION…]
 *
 * MODEL is a folder; options: count=8 sequences, shortest=64 tokens, steps=2, rounds=2, dtype=float32 or auto,
 * budget=positions of a micro-batch (default: twice all). Prints processor seconds of a step, peak memory, the share
 * of the trainer's own process (objective and protocol), useful positions, and the ratios; then the useful positions of
 * steps of log-normal lengths, padded and packed. Each run is a separate process, and the best of each side counts.
 * On a machine with other load compare processor time only, on a GPU the time by the clock.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Result } from "effect"
import * as OrtWorker from "@atropos/trainer/exec/OrtWorker"
import * as Preset from "@atropos/trainer/loss/Preset"
import type * as WeightedBatch from "../../packages/trainer/src/learn/WeightedBatch.ts"
import * as TorchEngine from "@atropos/trainer/torch/TorchEngine"
import * as TorchRounds from "../../packages/trainer/src/torch/TorchRounds.ts"
import * as SameBatch from "../../packages/trainer/test/tinker/SameBatch.ts"

const [model, ...words] = process.argv.slice(2)
const python = process.env["ATROPOS_ORIGINAL_PYTHON"]
if (model === undefined || python === undefined) {
  console.error(
    "usage: ATROPOS_ORIGINAL_PYTHON=PYTHON bench/trainer/Torch.ts MODEL [count=N] [shortest=N] [steps=N] [rounds=N]"
  )
  process.exit(1)
}
const given = new Map(words.map((word) => word.split("=") as [string, string]))
const number = (name: string, usual: number): number => Number(given.get(name) ?? usual)
const count = number("count", 8)
const shortest = number("shortest", 64)
const steps = number("steps", 2)

interface Cost {
  /** Processor seconds of a step: of all processes, and of the trainer's own. */
  readonly seconds: number
  readonly own: number
  /** Bytes of the processes at their peak. */
  readonly peak: number
  /** Seconds by the clock. */
  readonly wall: number
  /** Useful share of the positions; undefined: not counted. */
  readonly useful?: number
  readonly isPacked?: boolean
}

const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
const { vocab_size: vocabSize } = JSON.parse(readFileSync(`${model}/config.json`, "utf8")) as { vocab_size: number }
const batch = SameBatch.batchOf(objective, { vocabSize, maxLength: 8192, shortest, count })
const positions = batch.items.reduce((sum, { length }) => sum + length, 0)

const ticks = 100
const secondsOf = (pid: number): number => {
  const [, rest = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")
  const fields = rest.split(" ").map(Number)
  return (fields[11]! + fields[12]!) / ticks
}
const ownSeconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}

const ours = Effect.gen(function* () {
  const options = { python, ranks: 1, threads: 1 }
  const child = yield* TorchEngine.child(options)
  const engine = yield* TorchEngine.make(
    {
      ...options,
      name: model,
      model,
      vocabSize,
      maxPositions: 8192,
      seed: 5,
      dtype: given.get("dtype") === "auto" ? "auto" : "float32",
      parallel: "ddp",
      quantize: "none",
      trains: { r: 16, alpha: 32, targetModules: ["all-linear"], rslora: false }
    },
    child
  )
  const learner = yield* engine.load({ objective, tokenBudget: number("budget", positions * 2) })
  const { about } = yield* child
  const isPacked = (yield* engine.usage).loaded?.isPacked === true
  const [pid] = about.pids
  let best: Cost | undefined
  for (let step = 0; step < steps; step++) {
    const before = { child: secondsOf(pid!), own: ownSeconds(), wall: performance.now() }
    const { positions: computed } = yield* learner.forwardBackward(batch)
    yield* learner.optimizerStep(1e-5)
    const own = ownSeconds() - before.own
    const seconds = secondsOf(pid!) - before.child + own
    const wall = (performance.now() - before.wall) / 1000
    const { peaks } = yield* engine.usage
    if (best === undefined || seconds < best.seconds)
      best = { seconds, own, peak: peaks[0]!, wall, useful: positions / computed, isPacked }
  }
  return best!
}).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, OrtWorker.layer({ device: "cpu", threads: 1 }))))

const plain = (): Cost => {
  const program = fileURLToPath(new URL("internal/plain_torch.py", import.meta.url))
  const lengths = batch.items.map(({ length }) => length + 1)
  const { status, stderr, stdout } = spawnSync(python, [program, model, String(steps), ...lengths.map(String)], {
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(stderr)
  return { own: 0, ...(JSON.parse(stdout.trim().split("\n").at(-1)!) as Omit<Cost, "own">) }
}

const least = (costs: ReadonlyArray<Cost>): Cost => costs.reduce((a, b) => (b.seconds < a.seconds ? b : a))

const all: { readonly ours: Array<Cost>; readonly plain: Array<Cost> } = { ours: [], plain: [] }
for (let round = 0; round < number("rounds", 2); round++) {
  all.ours.push(await Effect.runPromise(ours))
  all.plain.push(plain())
}
const [a, b] = [least(all.ours), least(all.plain)]
const row = (name: string, { peak, seconds, wall }: Cost): string =>
  `| ${name} | ${seconds.toFixed(2)} s | ${wall.toFixed(2)} s | ${(positions / wall).toFixed(0)} | ${(peak / 2 ** 30).toFixed(2)} GiB |`
console.log(`${count} sequences, ${positions} positions, ${model}`)
console.log("| | processor time of a step | by the clock | tokens/s | peak memory |\n| --- | --- | --- | --- | --- |")
console.log(row("PyTorch engine", a))
console.log(row("plain PyTorch and PEFT", b))
console.log(
  `ratios: processor time ${(a.seconds / b.seconds).toFixed(2)}, by the clock ${(a.wall / b.wall).toFixed(2)}, memory ${(a.peak / b.peak).toFixed(2)}; ` +
    `objective and protocol ${((100 * a.own) / a.seconds).toFixed(2)} %; useful positions ${(100 * (a.useful ?? 1)).toFixed(1)} %, ${a.isPacked === true ? "packed" : "padded"}`
)

/** Sequences of log-normal lengths: median 600 tokens, at most 4,096, as answers of reasoning models have them. */
const logNormal = (size: number): WeightedBatch.WeightedBatch => {
  const lengths = Array.from({ length: size }, (_, index) => {
    const normal = Math.sqrt(-2 * Math.log((index + 0.5) / size)) * Math.cos(2 * Math.PI * ((index * 0.618034) % 1))
    return Math.max(16, Math.min(4096, Math.round(600 * Math.exp(0.8 * normal))))
  })
  return { sequences: [], items: lengths.map((length, sequence) => ({ sequence, length, trained: length, weight: 1 })) }
}
console.log("| sequences in micro-batches of 16,384 | padded | packed |\n| --- | --- | --- |")
for (const size of [32, 256, 1024]) {
  const step = logNormal(size)
  const tokens = step.items.reduce((sum, { length }) => sum + length, 0)
  const shares = [false, true].map((isPacked) => {
    const rounds = TorchRounds.of(step, { tokenBudget: 16_384, ranks: 1, keepsPairs: false, isPacked })
    const computed = rounds.reduce((sum, round) => sum + TorchRounds.positions(step, round, isPacked), 0)
    return `${((100 * tokens) / computed).toFixed(1)} %`
  })
  console.log(`| ${size}, ${tokens} positions | ${shares.join(" | ")} |`)
}
