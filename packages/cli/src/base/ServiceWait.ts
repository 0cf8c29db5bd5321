/** Reports on standard error for which service a command waits, if it does not answer within a second. */
import * as TimeSpan from "@atropos/core/base/TimeSpan"
import * as Waiting from "@atropos/core/base/Waiting"
import { Console } from "effect"

export const reported = (url: string) =>
  Waiting.telling((seconds) =>
    Console.error(`waiting for the trajectory service at ${url}: ${TimeSpan.format(seconds)} so far`)
  )
