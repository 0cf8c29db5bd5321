/**
 * Locates and loads ONNX Runtime: the package `onnxruntime-node` if installed (for example with CUDA), else this
 * machine's own package.
 *
 * `onnxruntime-node` contains the libraries of five platforms, and downloads more from a host that many machines cannot
 * reach. So this package depends on one package per platform instead, made of the same files (`scripts/pack.ts`).
 */
import * as Installed from "@atropos/core/base/system/Installed"
import * as OnnxTelemetry from "@atropos/core/base/system/OnnxTelemetry"
import type * as Ort from "onnxruntime-common"
import { createRequire } from "node:module"
import { ExecutorError } from "./Executor.ts"

const whole = "onnxruntime-node"

const own = `@atropos/onnxruntime-${process.platform}-${process.arch}`

const folderOf = (name: string): string | undefined => Installed.folder(name, import.meta.url)

/** True if `onnxruntime-node` is used, which can have CUDA. */
export const isWhole = (): boolean => folderOf(whole) !== undefined

export const folder = (): string | undefined => folderOf(whole) ?? folderOf(own)

/** Loads the library; fails if none for this machine. */
export const load = (): typeof Ort => {
  OnnxTelemetry.disable()
  const found = folder()
  if (found !== undefined) return createRequire(import.meta.url)(found)
  throw new ExecutorError({
    reason: "device",
    message: `ONNX Runtime is not installed: neither ${own} (were optional dependencies omitted?) nor ${whole}`
  })
}
