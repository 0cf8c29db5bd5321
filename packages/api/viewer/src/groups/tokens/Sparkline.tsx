/**
 * Draws the logprobs of a rollout's trained tokens as a curve of the least likely token per bucket: dips are surprising
 * tokens. A click selects the token.
 */
import { memo, useMemo } from "react"
import type { TokenModel } from "./TokenModel.ts"

const stretches = 240
const lowest = -8

interface Stretch {
  readonly index: number
  readonly logprob: number
}

/** The least likely trained token of each bucket; null if none was sampled. */
export const stretchesOf = ({ length, token }: TokenModel, target: number): ReadonlyArray<Stretch | null> => {
  const count = Math.min(target, length)
  const all: Array<Stretch | null> = Array.from({ length: count }, () => null)
  for (let index = 0; index < length; index++) {
    const { isTrained, logprob } = token(index)
    if (!isTrained || logprob === null) continue
    const place = Math.floor((index * count) / length)
    const known = all[place] ?? null
    if (known === null || logprob < known.logprob) all[place] = { index, logprob }
  }
  return all
}

interface Props {
  readonly model: TokenModel
  readonly cursor: number
  readonly onCursor: (token: number) => void
}

export const Sparkline = memo(({ cursor, model, onCursor }: Props) => {
  const all = useMemo(() => stretchesOf(model, stretches), [model])
  if (!model.hasLogprobs) return null
  const height = (logprob: number): number => (20 * Math.max(lowest, logprob)) / lowest
  const at = ((cursor + 0.5) * all.length) / model.length
  const go = (share: number) => {
    const place = Math.min(all.length - 1, Math.max(0, Math.floor(share * all.length)))
    onCursor(all[place]?.index ?? Math.floor((place * model.length) / all.length))
  }
  return (
    // The keys x and X, and the search, reach the same tokens.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
    <svg
      className="sparkline"
      viewBox={`0 0 ${all.length} 20`}
      preserveAspectRatio="none"
      role="img"
      aria-label="Logprobs of trained tokens, the least likely of each span"
      onClick={({ clientX, currentTarget }) => {
        const { left, width } = currentTarget.getBoundingClientRect()
        go((clientX - left) / width)
      }}
    >
      {all.map((stretch, place) =>
        stretch === null ? null : (
          <rect key={stretch.index} x={place} y={0} width={1} height={Math.max(0.4, height(stretch.logprob))} />
        )
      )}
      <rect className="sparkline-cursor" x={at - 0.5} y={0} width={1} height={20} />
    </svg>
  )
})
