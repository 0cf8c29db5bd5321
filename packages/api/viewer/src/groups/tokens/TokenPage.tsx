/** Shows a rollout token by token: coloured text, and the exact values of the selected one. */
import { useMemo, useState } from "react"
import { drawElements } from "../../save/ElementPicture.ts"
import { SaveMenu } from "../../save/SaveMenu.tsx"
import { Failure, Loading } from "../../ui/Note.tsx"
import { useSource } from "../../state/SourceContext.tsx"
import { count, number } from "../../ui/Format.ts"
import type { Rollout } from "../model/Group.ts"
import { available, type Colouring, colourings, names } from "./Heat.ts"
import { Inspector } from "./Inspector.tsx"
import { Sparkline } from "./Sparkline.tsx"
import { TokenGrid } from "./TokenGrid.tsx"
import * as TokenModel from "./TokenModel.ts"
import { differenceScale, type Token } from "./TokenModel.ts"
import { TokenSearch } from "./TokenSearch.tsx"
import { usePieces } from "./usePieces.ts"
import type * as Save from "../../save/Save.ts"

/** Explains the colours of tokens. */
const Legend = ({ colouring, model }: { readonly colouring: Colouring; readonly model: TokenModel.TokenModel }) => {
  switch (colouring) {
    case "logprob":
      return (
        <p className="legend">
          certain <span className="ramp ramp-heat" /> unlikely (1 in 150)
        </p>
      )
    case "advantage":
      return (
        <p className="legend number">
          {`−${number(model.maxAdvantage, 3)}`} <span className="ramp ramp-signed" />
          {` +${number(model.maxAdvantage, 3)}`}
        </p>
      )
    case "reference":
      return (
        <p className="legend">
          less likely than the reference <span className="ramp ramp-signed" /> more likely
        </p>
      )
    case "trainer":
      return (
        <p className="legend number">
          {`−${number(differenceScale(model), 2)} nats: less likely to the trainer`}{" "}
          <span className="ramp ramp-signed" />
          {` +${number(differenceScale(model), 2)}: more likely`}
        </p>
      )
    case "mask":
      return (
        <p className="legend">
          <span className="swatch" /> trained
        </p>
      )
  }
}

/** Converts the tokens of a rollout to a table for saving. Pure. */
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

const tokenTableOf = ({ length, token }: TokenModel.TokenModel): Save.Table => ({
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

interface Props {
  readonly run: string
  readonly group: string
  readonly rollout: Rollout
  readonly token: number | null
  readonly onToken: (token: number) => void
}

export const TokenPage = ({ group, onToken, rollout, run, token }: Props) => {
  const { hasService } = useSource()
  const [bar, setBar] = useState<HTMLDivElement | null>(null)
  const pieces = usePieces(run, group, rollout)
  const model = useMemo(() => TokenModel.make(rollout, pieces.value ?? {}), [rollout, pieces.value])
  const choices = useMemo(() => available(model), [model])
  const [selected, setSelected] = useState<Colouring>("logprob")
  const [hovered, setHovered] = useState<number | null>(null)
  const colouring = choices.includes(selected) ? selected : (choices[0] ?? "mask")
  if (pieces.value === null || pieces.isStale) {
    return pieces.error === null ? <Loading what="tokens" /> : <Failure error={pieces.error} onRetry={pieces.reload} />
  }
  if (model.length === 0) return <p className="note muted">No tokens in this rollout.</p>
  const name = `tokens of rollout ${rollout.index + 1} of group ${group}`
  // Without logprobs, which the curve needs, the table is drawn.
  const picture = model.hasLogprobs ? () => drawElements(bar?.querySelector("svg.sparkline") ?? null, name) : null
  const cursor = Math.min(token ?? TokenModel.firstTrained(model), model.length - 1)
  return (
    <div className="tokens">
      <div className="tokens-bar" ref={setBar}>
        <label>
          Colour
          <select value={colouring} onChange={({ target }) => setSelected(target.value as Colouring)}>
            {colourings
              .filter((choice) => choices.includes(choice) || choice === "trainer")
              .map((choice) => (
                <option key={choice} value={choice} disabled={!choices.includes(choice)}>
                  {choices.includes(choice) ? names[choice] : `${names[choice]} (not recorded)`}
                </option>
              ))}
          </select>
        </label>
        <Legend colouring={colouring} model={model} />
        <TokenSearch model={model} cursor={cursor} onCursor={onToken} />
        <p className="muted number">
          {`${count(model.length)} tokens, ${count(model.trained)} trained`}
          {model.meanLogprob !== null && `, mean logprob ${number(model.meanLogprob, 3)}`}
        </p>
        {Object.keys(pieces.value).length === 0 && (
          <p className="muted">
            IDs only: token texts unknown.{" "}
            {!hasService && (
              <>
                For files, <code>npx @atropos/cli view</code> takes <code>--tokenizer</code>.
              </>
            )}
          </p>
        )}
        <SaveMenu name={name} table={() => tokenTableOf(model)} {...(picture !== null && { picture })} />
        <Sparkline model={model} cursor={cursor} onCursor={onToken} />
      </div>
      <TokenGrid model={model} colouring={colouring} cursor={cursor} onCursor={onToken} onHover={setHovered} />
      <Inspector model={model} token={model.token(hovered ?? cursor)} rollout={rollout} />
    </div>
  )
}
