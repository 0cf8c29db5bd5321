/** Why a file could not be had, in the operating system's words where it gave any. */
import type { PlatformError } from "effect"

export const fileReason = ({ message, reason }: PlatformError.PlatformError): string =>
  reason.cause instanceof Error ? reason.cause.message : message
