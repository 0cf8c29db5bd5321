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
import { Legend } from "./Legend.tsx"
import { Sparkline } from "./Sparkline.tsx"
import { TokenGrid } from "./TokenGrid.tsx"
import * as TokenModel from "./TokenModel.ts"
import { TokenSearch } from "./TokenSearch.tsx"
import * as TokenTable from "./TokenTable.ts"
import { usePieces } from "./usePieces.ts"

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
  const [chosen, setChosen] = useState<Colouring>("logprob")
  const [hovered, setHovered] = useState<number | null>(null)
  const colouring = choices.includes(chosen) ? chosen : (choices[0] ?? "mask")
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
          <select value={colouring} onChange={({ target }) => setChosen(target.value as Colouring)}>
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
        <SaveMenu name={name} table={() => TokenTable.of(model)} {...(picture !== null && { picture })} />
        <Sparkline model={model} cursor={cursor} onCursor={onToken} />
      </div>
      <TokenGrid model={model} colouring={colouring} cursor={cursor} onCursor={onToken} onHover={setHovered} />
      <Inspector model={model} token={model.token(hovered ?? cursor)} rollout={rollout} />
    </div>
  )
}
