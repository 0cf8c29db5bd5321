/** Checks that the tokens, mask and logprobs of a sequence are consistent. */
import { isSampled, notSampled, type Trajectory } from "../../trajectory/Trajectory.ts"

/** Describes an alignment error of a trajectory, with the surrounding positions; undefined if none. */
export const violation = ({
  logprobs,
  mask,
  tokens
}: Pick<Trajectory, "tokens" | "mask" | "logprobs">): string | undefined => {
  const lengths = [tokens.length, mask.length, logprobs?.length ?? tokens.length]
  if (lengths.some((length) => length !== tokens.length)) {
    return `tokens, mask and logprobs differ in length: ${lengths.join(", ")}`
  }
  for (let at = 0; at < tokens.length; at++) {
    const problem = problemAt(tokens[at]!, mask[at]!, logprobs?.[at])
    if (problem !== undefined)
      return `position ${at} of ${tokens.length}: ${problem}\n${excerpt(at, tokens, mask, logprobs)}`
  }
  return undefined
}

const problemAt = (token: number, trained: number, logprob: number | undefined): string | undefined => {
  if (token < 0) return `${token} is not a token id`
  if (trained !== 0 && trained !== 1) return "the mask is neither 0 nor 1"
  if (logprob === undefined) return undefined
  if (trained === 0) return isSampled(logprob) ? "masked, but with a logprob" : undefined
  return logprob <= 0
    ? undefined
    : "trained, but without a logprob of 0 or below (did the server send fewer logprobs than tokens?)"
}

const formatLogprob = (logprob = notSampled): string => (isSampled(logprob) ? logprob.toFixed(4) : "-")

const excerpt = (at: number, tokens: Int32Array, mask: Uint8Array, logprobs: Float32Array | undefined): string => {
  const rows = ["  position      token       mask    logprob"]
  for (let index = Math.max(0, at - 2); index < Math.min(tokens.length, at + 3); index++) {
    const cells = [index, tokens[index]!, mask[index]!, formatLogprob(logprobs?.[index])]
    rows.push(`${index === at ? ">" : " "} ${cells.map((cell) => String(cell).padStart(10)).join(" ")}`)
  }
  return rows.join("\n")
}
