/**
 * Flags of the in-process sampling engine (`EngineSettings`), with dashes or underscores like the command's other
 * flags; the other spelling is accepted too.
 */
import { Flag } from "effect/cli"

export type Separator = "-" | "_"

const words = {
  kvMemoryMegabytes: ["kv", "memory", "megabytes"],
  prefixCacheMegabytes: ["prefix", "cache", "megabytes"],
  speculativeTokens: ["speculative", "tokens"],
  weightUpdates: ["weight", "updates"]
} as const

export type Name = keyof typeof words

export const nameOf = (name: Name, separator: Separator): string => words[name].join(separator)

export const memory = Flag.Finite("memory").pipe(
  Flag.filter(
    (gibibytes) => gibibytes > 0,
    () => "more than 0"
  ),
  Flag.withDescription(
    "memory limit of the process in GiB: caches are sized for it, and a model that cannot fit is refused; if unset, the memory of this machine or its container"
  ),
  Flag.optional
)

/** Cache sizes; the defaults depend on the available memory. */
export const caches = (separator: Separator) => ({
  kvMemoryMegabytes: Flag.Int(nameOf("kvMemoryMegabytes", separator)).pipe(
    Flag.filter(
      (megabytes) => megabytes > 0,
      () => "at least 1"
    ),
    Flag.withDescription("KV cache of running sequences in MiB [default: an eighth of the memory, 64 to 2048]"),
    Flag.optional
  ),
  prefixCacheMegabytes: Flag.Int(nameOf("prefixCacheMegabytes", separator)).pipe(
    Flag.filter(
      (megabytes) => megabytes >= 0,
      () => "0 or more"
    ),
    Flag.withDescription(
      "prefix cache in MiB, which the next turn of a conversation reuses; 0: none [default: a 32nd of the memory, at most 512]"
    ),
    Flag.optional
  )
})

/** Sampling options; if unset, the engine's defaults apply. */
export const sampling = (separator: Separator, weights: string) => ({
  speculativeTokens: Flag.Int(nameOf("speculativeTokens", separator)).pipe(
    Flag.filter(
      (tokens) => tokens >= 0 && tokens <= 32,
      () => "a whole number from 0 to 32"
    ),
    Flag.withDescription(
      "tokens to speculate from earlier text of the sequence (prompt lookup); faster if few concurrent answers copy much [default: 0]"
    ),
    Flag.withDefault(0)
  ),
  weightUpdates: Flag.Literals(nameOf("weightUpdates", separator), ["pinned", "in-flight"]).pipe(
    Flag.withDescription(
      `in-flight requests when ${weights}: finish on the old weights (pinned), or switch [default: pinned]`
    ),
    Flag.withDefault("pinned" as const)
  )
})

export const updatesOf = (input: "pinned" | "in-flight"): "pinned" | "in_flight" =>
  input === "in-flight" ? "in_flight" : input

/** Rewrites these flags in the arguments to their declared spelling. */
export const normalizeArgs =
  (separator: Separator) =>
  (all: ReadonlyArray<string>): ReadonlyArray<string> =>
    all.map((word) => {
      const [flag = "", ...value] = word.split("=")
      const spelled = flag.slice(2).split(/[-_]/).join(separator)
      const isKnown = flag.startsWith("--") && Object.values(words).some((one) => one.join(separator) === spelled)
      return isKnown ? [`--${spelled}`, ...value].join("=") : word
    })
