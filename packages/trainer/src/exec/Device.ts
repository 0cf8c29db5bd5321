/**
 * Selects the device that runs graphs, by testing which devices work and how fast they are.
 *
 * A device only works if a separate process multiplied matrices on it with the right result. `auto` selects the fastest
 * working device, so a software driver of WebGPU, which is slower than the CPU, is only used by name.
 */
import * as Thread from "@atropos/core/base/Thread"
import packageJson from "../../package.json" with { type: "json" }
import * as Docs from "@atropos/core/base/Docs"
import { fork } from "node:child_process"
import { existsSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { Effect, Schema, type Scope } from "effect"
import { type Device, type DeviceKind, ExecutorError } from "./Executor.ts"
import * as Library from "./Library.ts"
import type { Outcome } from "./DeviceTrial.ts"

export const DeviceChoice = Schema.Literals(["auto", "cpu", "webgpu", "cuda"])
export type DeviceChoice = typeof DeviceChoice.Type

export type Trial =
  | { readonly kind: DeviceKind; readonly works: true; readonly gflops: number }
  | { readonly kind: DeviceKind; readonly works: false; readonly why: string; readonly advice: string }

const descriptions: { readonly [Kind in DeviceKind]: string } = {
  cpu: `the CPU, ${availableParallelism()} cores`,
  webgpu: "the GPU through WebGPU",
  cuda: "the GPU through CUDA"
}

export const describe = (kind: DeviceKind): string => descriptions[kind]

/** Installs CUDA's libraries where ONNX Runtime looks for them; run it in the folder that contains `node_modules`. */
const cudaInstallation = Library.isWhole()
  ? "ONNXRUNTIME_NODE_INSTALL=true node node_modules/onnxruntime-node/script/install.js"
  : `ONNXRUNTIME_NODE_INSTALL=true npm install onnxruntime-node@${packageJson.peerDependencies["onnxruntime-node"]}`

const advices: { readonly [Kind in DeviceKind]: string } = {
  cpu: `ONNX Runtime is not installed, or not for this machine: reinstall with optional dependencies, or npm install onnxruntime-node@${packageJson.peerDependencies["onnxruntime-node"]}`,
  webgpu: `it needs a GPU and, on Linux, its Vulkan driver (NVIDIA's own; Mesa 25 or newer for AMD and Intel): ${Docs.path("gpu.md")}`,
  cuda: `it needs an NVIDIA driver, and CUDA and cuDNN 9 on the system's library path: ${Docs.path("gpu.md")}`
}

const explain = (kind: DeviceKind, failure: string): string => {
  if (failure.includes("No supported adapters")) {
    return process.platform === "linux" ? "no Vulkan device that ONNX Runtime supports" : "no supported GPU"
  }
  const library = /Failed to load library \S+ with error: ([^\n]+)/.exec(failure)?.[1]
  return library ?? failure.replace(`the model cannot be loaded on ${kind}: `, "").split("\n", 1)[0]!
}

/** Result for a device that cannot work here, without a trial. */
const missing = (kind: DeviceKind): Trial | undefined => {
  if (kind !== "cuda") return undefined
  const platform = `${process.platform} ${process.arch}`
  if (platform !== "linux x64") {
    return {
      kind,
      works: false,
      why: `not available for ${platform}`,
      advice: "ONNX Runtime provides it for Linux on x64"
    }
  }
  const folder = Library.folder()
  return folder !== undefined && existsSync(join(folder, "bin/napi-v6/linux/x64/libonnxruntime_providers_cuda.so"))
    ? undefined
    : { kind, works: false, why: "its libraries are not installed", advice: `run: ${cudaInstallation}` }
}

const trialUrl = Thread.fileBeside(import.meta.url, "DeviceTrial")

const patience = "60 seconds"

/** Runs a small graph on the device, in a separate process. */
export const trial = Effect.fn("Device.trial")(function* (
  kind: DeviceKind
): Effect.fn.Return<Trial, never, Scope.Scope> {
  const absent = missing(kind)
  if (absent !== undefined) return absent
  const failed = (why: string): Trial => ({ kind, works: false, why, advice: advices[kind] })
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => fork(trialUrl, [kind], { stdio: ["ignore", "ignore", "pipe", "ipc"] })),
    (process) => Effect.sync(() => process.kill("SIGKILL"))
  )
  return yield* Effect.callback<Trial>((resume) => {
    let output = ""
    child.stderr?.on("data", (text: Buffer) => (output = `${output}${text.toString()}`.slice(-2000)))
    child.once("error", (error) => resume(Effect.succeed(failed(`cannot start a process: ${error.message}`))))
    child.once("message", (outcome: Outcome) =>
      resume(
        Effect.succeed(
          "gflops" in outcome ? { kind, works: true, gflops: outcome.gflops } : failed(explain(kind, outcome.failure))
        )
      )
    )
    child.once("close", (code, signal) => {
      const last = output.trim().split("\n").at(-1) ?? ""
      resume(Effect.succeed(failed(`its driver crashed (${signal ?? `exit code ${code}`})${last && `: ${last}`}`)))
    })
  }).pipe(
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.succeed(failed(`its driver did not answer within ${patience}`))
    })
  )
}, Effect.scoped)

export const speed = (gflops: number): string => `${Number(gflops.toPrecision(2))} GFLOP/s`

/** The fastest working device (the CPU if none works), with the results of the others. */
export const best = (trials: ReadonlyArray<Trial>): Device => {
  const working = trials.filter((result) => result.works).sort((a, b) => b.gflops - a.gflops)
  const kind = working[0]?.kind ?? "cpu"
  const others = trials.flatMap((result) => {
    if (result.kind === kind) return []
    if (!result.works) return [`${result.kind}: ${result.why} (${result.advice})`]
    return [`${result.kind}: slower (${speed(result.gflops)} against ${speed(working[0]!.gflops)})`]
  })
  return { kind, detail: [describe(kind), ...others].join("; ") }
}

export const choose = Effect.fn("Device.choose")(function* (
  choice: DeviceChoice
): Effect.fn.Return<Device, ExecutorError> {
  if (choice === "cpu") return { kind: choice, detail: describe(choice) }
  if (choice === "auto") {
    // One after another: they would slow each other down.
    const gpus = yield* Effect.forEach(["cuda", "webgpu"] as const, (kind) => trial(kind))
    return best(gpus.some(({ works }) => works) ? [...gpus, yield* trial("cpu")] : gpus)
  }
  const result = yield* trial(choice)
  if (result.works) return { kind: choice, detail: `${describe(choice)}, ${speed(result.gflops)}` }
  return yield* new ExecutorError({
    reason: "device",
    message: `the device ${choice} cannot be used: ${result.why}; ${result.advice}`
  })
})

/** Returns a device that was already chosen, or chooses one. */
export const resolve = (device: Device | DeviceChoice): Effect.Effect<Device, ExecutorError> =>
  typeof device === "string" ? choose(device) : Effect.succeed(device)
