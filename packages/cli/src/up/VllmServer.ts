/**
 * Starts and supervises `vllm serve` next to a run: bound to the loopback address, with adapters that are loaded while
 * it runs. It ends with the scope, and if this process is killed. If it ends by itself, `lost` fails with its last
 * output.
 *
 * On one GPU it takes the memory that the trainer leaves (`share`), and both stay there: neither is put to sleep.
 */
import type { TrainerSettings } from "@atropos/trainer/run/TrainerSettings"
import * as TorchMemory from "@atropos/trainer/torch/TorchMemory"
import { Deferred, Effect, Schedule } from "effect"
import { HttpClient } from "effect/http"
import { spawn } from "node:child_process"
import { createServer, type AddressInfo } from "node:net"
import * as Heartbeat from "../base/Heartbeat.ts"
import { CommandFailed } from "../base/Failure.ts"

export interface Options {
  /** The executable. */
  readonly program: string
  /** More arguments of `vllm serve`. */
  readonly more: ReadonlyArray<string>
  /** Indices of its GPUs; default: those that it sees. */
  readonly gpus: string | undefined
  /** Part of the GPU's memory that it takes; undefined: vLLM's default. */
  readonly share: number | undefined
  readonly folder: string
  readonly name: string
  readonly settings: TrainerSettings
}

/** Part of a GPU that drivers and fragments of freed memory take. */
const spare = 0.06
/** vLLM's min memory as a multiple of its weights: the rest is for keys and values. */
const minWeightsMultiple = 1.3

/** The part of a GPU's memory for vLLM, or why both cannot have one GPU. */
export const shareOf = (
  sizes: TorchMemory.Sizes,
  workload: TorchMemory.Workload,
  { memory, positions }: { readonly memory: number; readonly positions: number }
): { readonly share: number } | { readonly problem: string } => {
  const trainer = TorchMemory.peak(sizes, workload, positions)
  const share = Math.floor(100 * (1 - spare - trainer / memory)) / 100
  const min = (minWeightsMultiple * 2 * sizes.parameters) / memory
  const gigabytes = (part: number) => `${((part * memory) / 1e9).toFixed(1)} GB`
  return share >= min
    ? { share }
    : {
        problem: `training takes about ${gigabytes(trainer / memory)} and vLLM at least ${gigabytes(min)}, and the GPU has ${gigabytes(1)}: give vLLM another GPU with --sampler_gpus, or lower --token_budget, or set --remat`
      }
}

/** The arguments of `vllm`. */
export const words = ({ folder, more, name, settings: { lora, trainer }, share }: Options, port: number) => [
  "serve",
  folder,
  "--served-model-name",
  name,
  // Sampling parameters are the environment's; logprobs are those of the distribution that is sampled.
  ...`--host 127.0.0.1 --port ${port} --generation-config vllm --logprobs-mode processed_logprobs`.split(" "),
  ...`--max-model-len ${trainer.seqLen}`.split(" "),
  ...(trainer.trains === "all"
    ? []
    : `--enable-lora --max-loras 2 --max-lora-rank ${Math.max(8, 2 ** Math.ceil(Math.log2(lora.r)))}`.split(" ")),
  ...(share === undefined ? [] : ["--gpu-memory-utilization", String(share)]),
  ...(trainer.dtype === "auto" ? [] : ["--dtype", trainer.dtype]),
  ...more
]

const freePort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Characters of its output in an error. */
const keptOutput = 4000

const failed = (message: string) => new CommandFailed({ message: `--sampler vllm: ${message}` })

/** Ends the whole group once its input is closed: also if this process is killed. */
const guarded = `exec 3<&0
"$@" </dev/null 3<&- & server=$!
(read -r _ <&3; kill -TERM 0) >/dev/null 2>&1 & guard=$!
wait $server; code=$?
kill $guard 2>/dev/null
exit $code`
/** The shell's exit code for a program that is not there, or is not one. */
const notStarted = new Set([126, 127])

/** Ends the server and what it has started. */
const end = (group: number | undefined, signal: NodeJS.Signals) => {
  if (group === undefined) return
  try {
    process.kill(-group, signal)
  } catch {
    // It has ended.
  }
}

const spawned = (options: Options, port: number, onEnd: (reason: string) => void) => {
  let output = ""
  const child = spawn("sh", ["-c", guarded, "sh", options.program, ...words(options, port)], {
    // A separate process group, which is ended together: Ctrl-C reaches this process only.
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    env: {
      VLLM_NO_USAGE_STATS: "1",
      HF_HUB_OFFLINE: "1",
      ...process.env,
      ...(options.gpus !== undefined && { CUDA_VISIBLE_DEVICES: options.gpus }),
      VLLM_ALLOW_RUNTIME_LORA_UPDATING: "True",
      // All weights are replaced through an endpoint of this mode.
      ...(options.settings.trainer.trains === "all" && { VLLM_SERVER_DEV_MODE: "1" })
    }
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => void (output = (output + chunk.toString()).slice(-keptOutput)))
  }
  child.once("error", ({ message }) => onEnd(`sh cannot be started: ${message}`))
  // Its engines outlive it if it is killed, and hold its output open.
  child.once("exit", () => end(child.pid, "SIGKILL"))
  child.once("close", (code, signal) =>
    onEnd(
      notStarted.has(code ?? 0)
        ? `${options.program} cannot be started: ${output.trim()}. Install vLLM in a separate environment, and name its executable with --vllm`
        : `vllm ended (${signal ?? `code ${code}`}), its last output: ${output.trim()}`
    )
  )
  return child
}

/** Waits until it is healthy; large models take minutes to load. */
export const start = Effect.fn("VllmServer.start")(function* (options: Options) {
  const client = yield* HttpClient.HttpClient
  const port = yield* freePort
  const lost = yield* Deferred.make<never, CommandFailed>()
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawned(options, port, (reason) => void Deferred.doneUnsafe(lost, Effect.fail(failed(reason))))),
    ({ pid }) =>
      Effect.andThen(
        Effect.sync(() => end(pid, "SIGTERM")),
        Effect.ignore(Deferred.await(lost))
      )
  )
  const url = `http://127.0.0.1:${port}`
  yield* client.get(`${url}/health`).pipe(
    Effect.flatMap(({ status }) => (status === 200 ? Effect.void : Effect.fail(status))),
    Effect.retry(Schedule.spaced("1 second")),
    Effect.raceFirst(Deferred.await(lost)),
    Heartbeat.during("starting vLLM"),
    Effect.mapError((error) =>
      error instanceof CommandFailed ? error : failed(`no answer at ${url}: ${String(error)}`)
    )
  )
  return { url, pid: child.pid, lost: Deferred.await(lost) }
})
