import * as Reason from "@atropos/core/base/Reason"
import type { PlatformError } from "effect/PlatformError"
import { CommandFailed } from "./Failure.ts"

/** Builds the failure `cannot write FILE: no space left`. */
export const cannot =
  (action: string, file: string) =>
  (cause: PlatformError): CommandFailed =>
    new CommandFailed({ message: `cannot ${action} ${file}: ${Reason.ofFile(cause)}`, cause })
