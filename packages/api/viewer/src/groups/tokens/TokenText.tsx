/** Shows a rollout without messages as the text of its tokens, in alternating given and trained spans. */
import { useMemo } from "react"
import { Loading } from "../../ui/Note.tsx"
import type { Rollout } from "../model/Group.ts"
import { Markdown } from "../message/Markdown.tsx"
import { runsOf } from "./TokenModel.ts"
import { usePieces } from "./usePieces.ts"

export const TokenText = ({
  group,
  rollout,
  run
}: {
  readonly run: string
  readonly group: string
  readonly rollout: Rollout
}) => {
  const { error, value } = usePieces(run, group, rollout)
  const runs = useMemo(() => (value === null ? [] : runsOf(rollout, value)), [rollout, value])
  if (error !== null && value === null)
    return <p className="muted">The text of the tokens could not be loaded: {error.message}</p>
  if (value === null) return <Loading what="text" />
  if (rollout.tokens.length === 0) return <p className="muted">No messages and no tokens in this rollout.</p>
  if (runs.every(({ unknown }) => unknown)) {
    return (
      <p className="muted">
        This group has no messages, and the texts of its tokens are unknown. Set include_messages to send messages; the
        token view shows the IDs.
      </p>
    )
  }
  return runs.map(({ isTrained, text }, place) => (
    // oxlint-disable-next-line react/no-array-index-key -- they never move
    <article key={place} className={isTrained ? "message role-assistant" : "message role-user"}>
      <p className="message-head">
        <span className="role">{isTrained ? "trained" : "given"}</span>
      </p>
      <Markdown text={text} />
    </article>
  ))
}
