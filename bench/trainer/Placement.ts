/**
 * Checks (without timing) which nodes of our graphs a device runs, and which fall back to the CPU.
 *
 *     node --conditions=atropos-src bench/trainer/Placement.ts webgpu|cuda FOLDER…
 *
 * FOLDER is a model with an adapter in its folder `adapter`, as in `packages/trainer/test/fixtures/architectures`.
 * Counts what ONNX Runtime logs when it loads a graph, after its own rewriting: of the training graph (GRPO, all parts
 * recomputed), then of the decoding graph. Loops count as one node, in addition to the nodes inside.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Result } from "effect"
import { spawnSync } from "node:child_process"
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import * as DecodeGraph from "../../packages/trainer/src/engine/DecodeGraph.ts"
import type { DeviceKind } from "../../packages/trainer/src/exec/Executor.ts"
import * as Library from "../../packages/trainer/src/exec/Library.ts"
import * as OrtSession from "../../packages/trainer/src/exec/OrtSession.ts"
import { type OnnxModel, toOnnx } from "../../packages/trainer/src/graph/Onnx.ts"
import * as TrainGraph from "../../packages/trainer/src/local/TrainGraph.ts"
import * as Preset from "../../packages/trainer/src/loss/Preset.ts"
import * as Lora from "../../packages/trainer/src/model/Lora.ts"
import * as Model from "../../packages/trainer/src/model/Model.ts"
import * as ModelFolder from "../../packages/trainer/src/model/ModelFolder.ts"
import * as Peft from "../../packages/trainer/src/model/Peft.ts"
import * as Stacks from "../../packages/trainer/src/model/Stacks.ts"
import * as Tensors from "../../packages/trainer/src/model/Tensors.ts"

const kinds = ["training", "decoding"] as const
type Kind = (typeof kinds)[number]

const graphOf = Effect.fnUntraced(function* (folder: string, kind: Kind) {
  const config = yield* ModelFolder.readConfig(folder)
  const entries = yield* ModelFolder.readEntries(folder, config)
  const stacks = yield* Stacks.cached(Tensors.stacks(config), entries)
  const adapter = yield* Peft.readSettings(`${folder}/adapter`)
  const weights = new Map([...ModelFolder.weights(config, entries), ...stacks])
  const model = { config, weights, adapter, layout: Lora.layout(config, adapter) }
  if (kind === "decoding") return DecodeGraph.make(Model.decodable(model)).onnx
  const objective = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
  return toOnnx(TrainGraph.build(Model.policy(model), objective).graph)
})

/** Loads a graph with full logging; the native log bypasses Node. */
const load = async (device: DeviceKind, { external, onnx }: OnnxModel) => {
  const options = OrtSession.options({ device, threads: 1 }, {}, external.folder)
  const session = await Library.load().InferenceSession.create(onnx, { ...options, logSeverityLevel: 0 })
  await session.release()
}

interface Placed {
  readonly nodes: number
  readonly onDevice: number
  /** Number of each operation that the CPU runs. */
  readonly fallen: ReadonlyMap<string, number>
}

/** Parses the log: lists of nodes, each under the name of its execution provider. */
const placed = (log: string): Placed => {
  let nodes = 0
  let onDevice = 0
  let isCpu = false
  const fallen = new Map<string, number>()
  for (const line of log.split("\n").filter((text) => text.includes("VerifyEachNodeIsAssignedToAnEp]"))) {
    const said = line.slice(line.indexOf("AnEp]") + 5).trim()
    const [, provider, count] = /placed on \[(\w+)\]. Number of nodes: (\d+)/.exec(said) ?? []
    if (provider !== undefined) {
      isCpu = provider === "CPUExecutionProvider"
      nodes += Number(count)
      onDevice += isCpu ? 0 : Number(count)
    } else if (isCpu && said.endsWith(")")) {
      const op = said.split(" ", 1)[0]!
      fallen.set(op, (fallen.get(op) ?? 0) + 1)
    }
  }
  return { nodes, onDevice, fallen }
}

const [device = "", ...rest] = process.argv.slice(2)
if (device !== "webgpu" && device !== "cuda") {
  console.error("Placement.ts webgpu|cuda FOLDER…")
  process.exit(1)
}
const own = kinds.find((kind) => rest[0] === `--load=${kind}`)
if (own !== undefined) {
  await load(device, await Effect.runPromise(Effect.provide(graphOf(rest[1]!, own), NodeServices.layer)))
} else {
  // A file instead of a pipe: if a pipe is full, the library drops the rest.
  const log = join(mkdtempSync(join(tmpdir(), "atropos-placement-")), "log")
  for (const folder of rest) {
    for (const kind of kinds) {
      const args = ["--conditions=atropos-src", import.meta.filename, device, `--load=${kind}`, folder]
      const file = openSync(log, "w")
      const { status } = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", file] })
      closeSync(file)
      const said = readFileSync(log, "utf8")
      const { fallen, nodes, onDevice } = placed(said)
      const ops = [...fallen].toSorted(([, a], [, b]) => b - a).map(([op, count]) => `${count} ${op}`)
      const what = `${basename(folder).padEnd(26)} ${kind}`
      if (status !== 0 || nodes === 0) console.log(`${what}: failed: ${said.trim().split("\n").at(-1)}`)
      else console.log(`${what}: ${onDevice} of ${nodes}; CPU: ${ops.join(", ") || "none"}`)
    }
  }
  rmSync(dirname(log), { recursive: true })
}
