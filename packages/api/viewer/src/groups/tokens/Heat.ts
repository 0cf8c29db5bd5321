/** Computes the colouring of tokens. */
import { number } from "../../ui/Format.ts"
import { differenceScale, isDisputed, isSurprise, type Token, type TokenModel } from "./TokenModel.ts"

export const colourings = ["logprob", "advantage", "reference", "trainer", "mask"] as const
export type Colouring = (typeof colourings)[number]

export const names: { readonly [C in Colouring]: string } = {
  logprob: "Logprob",
  advantage: "Advantage",
  reference: "Reference ratio",
  trainer: "Trainer − sampler",
  mask: "Mask"
}

export const available = (model: TokenModel): ReadonlyArray<Colouring> =>
  colourings.filter(
    (colouring) =>
      colouring === "mask" ||
      (colouring === "logprob" && model.hasLogprobs) ||
      (colouring === "advantage" && model.maxAdvantage > 0) ||
      (colouring === "reference" && model.hasReference && model.hasLogprobs) ||
      (colouring === "trainer" && model.largestDifference !== null)
  )

/** -1 to 1: negative in the colour for worse, positive in that for better; null: no colour. */
export const strength = (token: Token, colouring: Colouring, model: TokenModel): number | null => {
  switch (colouring) {
    case "logprob":
      return token.logprob === null ? null : -unlikely(token.logprob)
    case "advantage":
      return token.advantage === null || model.maxAdvantage === 0 ? null : clamp(token.advantage / model.maxAdvantage)
    case "reference":
      // Log ratio of the sampling policy to the reference, saturating at 2 nats.
      return token.logprob === null || token.refLogprob === null ? null : clamp((token.logprob - token.refLogprob) / 2)
    case "trainer":
      return token.difference === null ? null : clamp(token.difference / differenceScale(model))
    case "mask":
      return token.isTrained ? 1 : null
  }
}

/** The target of the keys x and X, by colouring. */
export const notable = (
  model: TokenModel,
  colouring: Colouring
): { readonly name: string; readonly is: (token: Token) => boolean } =>
  colouring === "trainer"
    ? { name: `token with a large difference (${number(differenceScale(model) / 2, 2)} nats)`, is: isDisputed(model) }
    : { name: "unlikely token (below 5%)", is: isSurprise }

/** 0 for a certain token to 1 for a probability of 1 in 150 or less. */
const unlikely = (logprob: number): number => Math.min(1, Math.max(0, -logprob / 5))

const clamp = (value: number): number => Math.min(1, Math.max(-1, value))

export const percent = (logprob: number): string => `${number(100 * Math.exp(logprob), 3)} %`
