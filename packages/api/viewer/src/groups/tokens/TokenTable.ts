/** Converts the tokens of a rollout to a table for saving. Pure. */
import type * as Save from "../../save/Save.ts"
import type { Token, TokenModel } from "./TokenModel.ts"

const candidatesOf = ({ candidates }: Token): string | null =>
  candidates.length === 0 ? null : JSON.stringify(candidates.map(({ id, logprob }) => [id, logprob]))

const rowOf = (token: Token): ReadonlyArray<Save.Value> => [
  token.index + 1,
  token.id,
  token.text,
  token.isTrained,
  token.logprob,
  token.refLogprob,
  token.trainerLogprob,
  token.advantage,
  candidatesOf(token)
]

export const of = ({ length, token }: TokenModel): Save.Table => ({
  columns: [
    "position",
    "id",
    "text",
    "trained",
    "logprob",
    "ref_logprob",
    "trainer_logprob",
    "advantage",
    "candidates"
  ],
  rows: Array.from({ length }, (_, index) => rowOf(token(index)))
})
