/**
 * Renders markdown with formulas and code. Long text is rendered in chunks: a megabyte in one layout would block the
 * page.
 */
import { memo, useMemo, useState } from "react"
import { count } from "../../ui/Format.ts"
import { chunks } from "./Chunks.ts"
import { toHtml } from "./MarkdownHtml.ts"
import { sanitise } from "./Sanitise.ts"

const chunkSize = 16_000
/** Chunks shown initially, and added per click. */
const firstChunks = 1
const moreChunks = 4

export const Markdown = memo(({ text }: { readonly text: string }) => {
  const [visible, setVisible] = useState(firstChunks)
  const pieces = useMemo(() => chunks(text, chunkSize), [text])
  const rest = pieces.slice(visible).reduce((sum, { length }) => sum + length, 0)
  return (
    <>
      {pieces.slice(0, visible).map((piece, place) => (
        // oxlint-disable-next-line react/no-array-index-key -- pieces of a text never move
        <Chunk key={place} text={piece} />
      ))}
      {rest > 0 && (
        <button type="button" className="small" onClick={() => setVisible(visible + moreChunks)}>
          {`Show more of ${count(rest)} characters`}
        </button>
      )}
    </>
  )
})

const Chunk = memo(({ text }: { readonly text: string }) => {
  const html = useMemo(() => toHtml(text), [text])
  const safe = useMemo(() => (html === null ? null : sanitise(html)), [html])
  // This HTML has been sanitised.
  // oxlint-disable-next-line react/no-danger
  return safe === null ? (
    <PlainText text={text} />
  ) : (
    <div className="prose" dangerouslySetInnerHTML={{ __html: safe }} />
  )
})

const firstCharacters = 8000
const moreCharacters = 100_000

/** Plain text. If boxed it may scroll, and is focusable by keyboard. */
export const PlainText = memo(({ isBoxed = false, text }: { readonly text: string; readonly isBoxed?: boolean }) => {
  const [visible, setVisible] = useState(firstCharacters)
  const rest = text.length - visible
  return (
    <>
      <div
        className={isBoxed ? "plain is-boxed" : "plain"}
        tabIndex={isBoxed ? 0 : undefined}
        data-scrolls={isBoxed || undefined}
      >
        {rest > 0 ? text.slice(0, visible) : text}
      </div>
      {rest > 0 && (
        <button type="button" className="small" onClick={() => setVisible(visible + moreCharacters)}>
          {`Show more of ${count(rest)} characters`}
        </button>
      )}
    </>
  )
})
