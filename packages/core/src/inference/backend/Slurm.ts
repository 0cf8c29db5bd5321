/**
 * Finds the inference servers of a Slurm job: on every node after the first NUM_TRAINING_NODES, 8 / INFER_TP servers on
 * ports 9000, 9001, …
 *
 * Read from SLURM_JOB_NODELIST (expanded by `scontrol show hostnames`), NUM_TRAINING_NODES (default 1: the trainer's
 * node) and INFER_TP (tensor parallelism, default 1). None outside of a job, or in a job of one node. The original
 * fails if INFER_TP is set or NUM_TRAINING_NODES is not.
 */
import { Config, Effect, Option, Schema, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

export class SlurmError extends Schema.TaggedError<SlurmError>()("SlurmError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

const gpusPerNode = 8
const firstPort = 9000

const variables = Config.all({
  nodeList: Config.option(Config.NonEmptyString("SLURM_JOB_NODELIST")),
  trainingNodes: Config.schema(Schema.Natural, "NUM_TRAINING_NODES").pipe(Config.withDefault(1)),
  tensorParallelism: Config.schema(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: gpusPerNode })),
    "INFER_TP"
  ).pipe(Config.withDefault(1))
})

const readText = <E>(bytes: Stream.Stream<Uint8Array, E>) => Stream.mkString(Stream.decodeText(bytes))

/** Names of the job's nodes, in Slurm's order. */
const hostnames = Effect.fn("Slurm.hostnames")(function* (nodeList: string) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const command = ChildProcess.make("scontrol", ["show", "hostnames", nodeList])
  const wrong = (problem: string, cause?: unknown) =>
    new SlurmError({
      message: `"scontrol show hostnames ${nodeList}" ${problem}; it must be on PATH inside the job, or give base_url instead`,
      ...(cause === undefined ? {} : { cause })
    })
  const { exitCode, nodes, stderr } = yield* Effect.gen(function* () {
    const process = yield* spawner.spawn(command)
    const [output, stderr, exitCode] = yield* Effect.all(
      [readText(process.stdout), readText(process.stderr), process.exitCode],
      { concurrency: "unbounded" }
    )
    return {
      exitCode,
      stderr,
      nodes: output
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "")
    }
  }).pipe(
    Effect.scoped,
    Effect.mapError((cause) => wrong(`could not be run (${cause.message})`, cause))
  )
  if (exitCode !== 0) return yield* wrong(`exited with ${exitCode}: ${stderr.trim()}`)
  return nodes.length > 0 ? nodes : yield* wrong("named no node")
})

/** Addresses of the job's inference servers; empty outside a job and on a single node. */
export const serverUrls = Effect.gen(function* () {
  const { nodeList, tensorParallelism, trainingNodes } = yield* variables.pipe(
    Effect.mapError((cause) => new SlurmError({ message: `environment of the Slurm job: ${cause.message}`, cause }))
  )
  if (Option.isNone(nodeList)) return []
  const nodes = yield* hostnames(nodeList.value)
  if (nodes.length < 2) {
    yield* Effect.logInfo("Slurm job has one node: no inference nodes", { node: nodes[0] })
    return []
  }
  const inferenceNodes = nodes.slice(trainingNodes)
  if (inferenceNodes.length === 0) {
    return yield* new SlurmError({
      message: `NUM_TRAINING_NODES is ${trainingNodes}, but the job has ${nodes.length} nodes: none are left for inference`
    })
  }
  const perNode = Math.floor(gpusPerNode / tensorParallelism)
  return inferenceNodes.flatMap((node) =>
    Array.from({ length: perNode }, (_, server) => `http://${node}:${firstPort + server}/v1`)
  )
}).pipe(Effect.withSpan("Slurm.serverUrls"))
