/** How strongly a token is coloured, and by what. */
import { number } from "../../ui/Format.ts"
import type { Token, TokenModel } from "./TokenModel.ts"

export const colourings = ["logprob", "advantage", "reference", "mask"] as const
export type Colouring = (typeof colourings)[number]

export const names: { readonly [C in Colouring]: string } = {
  logprob: "Logprob",
  advantage: "Advantage",
  reference: "Against reference",
  mask: "Mask"
}

/** Which colourings say something of these tokens. */
export const available = (model: TokenModel): ReadonlyArray<Colouring> =>
  colourings.filter(
    (colouring) =>
      colouring === "mask" ||
      (colouring === "logprob" && model.hasLogprobs) ||
      (colouring === "advantage" && model.largestAdvantage > 0) ||
      (colouring === "reference" && model.hasReference && model.hasLogprobs)
  )

/** -1 to 1: below 0 in the colour of what is worse, above in that of what is better; null: no colour. */
export const strength = (token: Token, colouring: Colouring, largestAdvantage: number): number | null => {
  switch (colouring) {
    case "logprob":
      return token.logprob === null ? null : -unlikely(token.logprob)
    case "advantage":
      return token.advantage === null || largestAdvantage === 0 ? null : clamp(token.advantage / largestAdvantage)
    case "reference":
      // Log ratio of the sampling policy to the reference: 2 nats are much.
      return token.logprob === null || token.refLogprob === null ? null : clamp((token.logprob - token.refLogprob) / 2)
    case "mask":
      return token.isTrained ? 1 : null
  }
}

/** 0 for a certain token to 1 for one of probability 1 in 150 or less. */
const unlikely = (logprob: number): number => Math.min(1, Math.max(0, -logprob / 5))

const clamp = (value: number): number => Math.min(1, Math.max(-1, value))

/** The share of probability a logprob stands for. */
export const percent = (logprob: number): string => `${number(100 * Math.exp(logprob), 3)} %`
