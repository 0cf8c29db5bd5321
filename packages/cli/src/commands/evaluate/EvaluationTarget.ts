/** Flags of `evaluate` for the service that receives its samples in addition to files. */
import { Option } from "effect"
import { Flag } from "effect/cli"
import type * as ToService from "../../evaluate/ToService.ts"

export const flags = {
  service: Flag.String("service").pipe(
    Flag.withDescription("also send the samples to the trajectory service at this URL, to browse them in its viewer"),
    Flag.withMetavar("url"),
    Flag.optional
  ),
  run: Flag.String("run").pipe(
    Flag.withDescription("with --service: run whose policy is evaluated [default: none]"),
    Flag.optional
  ),
  step: Flag.Int("step").pipe(
    Flag.withDescription("with --service: step of that run whose weights are evaluated"),
    Flag.optional
  )
}

/** None without `--service`. */
export const of = (flags: {
  readonly service: Option.Option<string>
  readonly run: Option.Option<string>
  readonly step: Option.Option<number>
}): Option.Option<ToService.Target> =>
  Option.map(flags.service, (url) => ({
    url,
    run: Option.getOrNull(flags.run),
    step: Option.getOrNull(flags.step)
  }))
