/**
 * Where ONNX Runtime is: the package `onnxruntime-node` where that is installed (with CUDA, for one), else the package
 * of this machine alone, which comes with this one.
 *
 * `onnxruntime-node` has the libraries of five platforms in it, and a script that fetches more from a host that many
 * machines do not reach: what is published here depends on one package for each platform instead, made of the same
 * files (`scripts/pack.ts`).
 */
import * as Installed from "@atropos/core/base/Installed"
import * as OnnxTelemetry from "@atropos/core/base/OnnxTelemetry"
import type * as Ort from "onnxruntime-common"
import { createRequire } from "node:module"
import { ExecutorError } from "./Executor.ts"

const whole = "onnxruntime-node"

/** The package of this machine. */
const own = `@atropos/onnxruntime-${process.platform}-${process.arch}`

const folderOf = (name: string): string | undefined => Installed.folder(name, import.meta.url)

/** Whether it is `onnxruntime-node` that is used, which can have CUDA. */
export const isWhole = (): boolean => folderOf(whole) !== undefined

/** The folder of the package to be loaded. */
export const folder = (): string | undefined => folderOf(whole) ?? folderOf(own)

/** What is used of the library; fails where there is none for this machine. */
export const load = (): typeof Ort => {
  OnnxTelemetry.disable()
  const found = folder()
  if (found !== undefined) return createRequire(import.meta.url)(found)
  throw new ExecutorError({
    reason: "device",
    message: `ONNX Runtime is not installed: neither ${own} (were optional dependencies left out?) nor ${whole}`
  })
}
