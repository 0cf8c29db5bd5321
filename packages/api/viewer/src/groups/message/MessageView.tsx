/** Renders one message: role, collapsed reasoning, text, pictures, tool calls and results. */
import { memo, useContext, useEffect, useRef, useState } from "react"
import { number, plural } from "../../ui/Format.ts"
import { Markdown, PlainText } from "./Markdown.tsx"
import type { Message, Part } from "./Message.ts"
import { Picture } from "./Picture.tsx"
import { Reading } from "./Reading.ts"
import { Json, ToolCallView, ToolResult, WrittenCall } from "./ToolParts.tsx"

interface Props {
  readonly message: Message
  /** Name of a result's tool, found by its call. */
  readonly toolName: string | null
}

export const MessageView = memo(({ message, toolName }: Props) => {
  const { isSource } = useContext(Reading)
  const { name, reward, role } = message
  const roleClass = ["system", "user", "assistant", "tool"].includes(role) ? role : "other"
  return (
    <article className={`message role-${roleClass}`}>
      <p className="message-head">
        <span className="role">{role}</span>
        {(name ?? toolName) !== null && <span className="speaker">{name ?? toolName}</span>}
        {reward !== null && <span className="reward number">reward {number(reward)}</span>}
      </p>
      {isSource ? <Source raw={message.raw} /> : <Parts message={message} />}
    </article>
  )
})

const Parts = ({ message: { parts, role, toolCalls } }: { readonly message: Message }) => (
  <>
    {parts.map((part, place) => (
      // oxlint-disable-next-line react/no-array-index-key -- the parts of a message never move
      <PartView key={place} part={part} role={role} />
    ))}
    {toolCalls.map((call, place) => (
      // oxlint-disable-next-line react/no-array-index-key -- nor do its calls
      <ToolCallView key={place} call={call} />
    ))}
    {parts.length === 0 && toolCalls.length === 0 && <p className="muted">(empty)</p>}
  </>
)

const PartView = ({ part, role }: { readonly part: Part; readonly role: string }) => {
  switch (part.kind) {
    case "reasoning":
      return <Reasoning text={part.text} isOpen={part.isOpen} />
    case "tool_call":
      return <WrittenCall text={part.text} isOpen={part.isOpen} />
    case "tool_response":
      return <ToolResult text={part.text} title="result" />
    case "image":
      return <Picture image={part.image} label="picture" />
    case "json":
      return <Json value={part.value} />
    case "text":
      return role === "tool" || role === "function" ? (
        <ToolResult text={part.text} title="result" />
      ) : (
        <Markdown text={part.text} />
      )
  }
}

/** Collapsed by default; a page can expand all. */
const Reasoning = ({ isOpen, text }: { readonly text: string; readonly isOpen: boolean }) => {
  const { unfolds } = useContext(Reading)
  const [shows, setShows] = useState(unfolds)
  const [previous, setPrevious] = useState(unfolds)
  if (previous !== unfolds) {
    setPrevious(unfolds)
    setShows(unfolds)
  }
  const words = text.split(/\s+/).filter((word) => word !== "").length
  return (
    <details className="reasoning" open={shows} onToggle={({ currentTarget }) => setShows(currentTarget.open)}>
      <summary>
        Reasoning <span className="muted">{`${plural(words, "word")}${isOpen ? ", unfinished" : ""}`}</span>
      </summary>
      {shows && <Markdown text={text} />}
    </details>
  )
}

const Source = ({ raw }: { readonly raw: unknown }) => {
  const message: { readonly [key: string]: unknown } = typeof raw === "object" && raw !== null ? { ...raw } : { raw }
  const { content, role: _, ...rest } = message
  return (
    <>
      {typeof content === "string" ? <PlainText text={content} /> : content !== undefined && <Json value={content} />}
      {Object.keys(rest).length > 0 && <Json value={rest} />}
    </>
  )
}

/** Longer chats are rendered as they come near: a hundred turns of eight rollouts are too much for one layout. */
const alwaysDrawn = 10

export const Messages = ({
  messages,
  of
}: {
  readonly messages: ReadonlyArray<Message>
  readonly of: ReadonlyArray<Message>
}) =>
  messages.map((message, place) => {
    const toolName = message.callId === null ? null : (nameOfCall(of, message.callId) ?? null)
    return place < alwaysDrawn ? (
      // oxlint-disable-next-line react/no-array-index-key -- messages of a chat never move
      <MessageView key={place} message={message} toolName={toolName} />
    ) : (
      // oxlint-disable-next-line react/no-array-index-key
      <Nearby key={place} message={message} toolName={toolName} />
    )
  })

const nameOfCall = (messages: ReadonlyArray<Message>, id: string): string | undefined =>
  messages.flatMap(({ toolCalls }) => toolCalls).find((call) => call.id === id)?.name

const Nearby = ({ message, toolName }: Props) => {
  const ref = useRef<HTMLDivElement>(null)
  const [isNear, setIsNear] = useState(false)
  useEffect(() => {
    const element = ref.current
    if (element === null || isNear) return
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setIsNear(true)
      },
      { rootMargin: "1200px" }
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [isNear])
  return isNear ? (
    <MessageView message={message} toolName={toolName} />
  ) : (
    <div ref={ref} className="message message-far" />
  )
}
