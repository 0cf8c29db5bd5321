/** Renders tool calls and their results. */
import * as Predicate from "effect/Predicate"
import { useMemo } from "react"
import { PlainText } from "./Markdown.tsx"
import { highlight } from "./Highlight.ts"
import { parsed, type ToolCall } from "./Message.ts"
import { sanitise } from "./Sanitise.ts"

export const Code = ({ language, text }: { readonly text: string; readonly language: string }) => {
  const html = useMemo(() => sanitise(highlight(text, language)), [text, language])
  return (
    <pre tabIndex={0}>
      {/* oxlint-disable-next-line react/no-danger -- went through the sanitiser */}
      <code dangerouslySetInnerHTML={{ __html: html }} />
    </pre>
  )
}

export const Json = ({ value }: { readonly value: unknown }) => {
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? "null", [value])
  return text.length > 20_000 ? <PlainText text={text} /> : <Code text={text} language="json" />
}

const languages: { readonly [name: string]: string } = {
  code: "python",
  python: "python",
  script: "python",
  command: "bash",
  cmd: "bash",
  bash: "bash",
  query: "sql",
  sql: "sql"
}

export const ToolCallView = ({ call }: { readonly call: ToolCall }) => {
  const { id, input, name } = call
  const isObject = Predicate.isReadonlyObject(input)
  return (
    <div className="tool">
      <p className="tool-head" title={id ?? undefined}>
        <span className="tool-kind">calls</span> <code>{name}</code>
      </p>
      {isObject ? (
        <dl className="tool-input">
          {Object.entries(input).map(([key, value]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>
                <Argument name={key} value={value} />
              </dd>
            </div>
          ))}
        </dl>
      ) : (
        input !== null && <Argument name="" value={input} />
      )}
    </div>
  )
}

const Argument = ({ name, value }: { readonly name: string; readonly value: unknown }) => {
  if (typeof value === "string") {
    return value.includes("\n") && value.length < 20_000 ? (
      <Code text={value} language={languages[name] ?? ""} />
    ) : (
      <PlainText text={value} />
    )
  }
  return typeof value === "object" && value !== null ? (
    <Json value={value} />
  ) : (
    <span className="mono">{String(value)}</span>
  )
}

/** A tool call written in the model's text; anything else is shown as text. */
export const WrittenCall = ({ isOpen, text }: { readonly text: string; readonly isOpen: boolean }) => {
  const value = parsed(text)
  const isCall = typeof value === "object" && value !== null && "name" in value && typeof value.name === "string"
  if (isCall) {
    const input = "arguments" in value ? value.arguments : null
    return (
      <ToolCallView
        call={{ id: null, name: String(value.name), input: typeof input === "string" ? parsed(input) : input }}
      />
    )
  }
  return (
    <div className="tool">
      <p className="tool-head">
        <span className="tool-kind">{isOpen ? "truncated call" : "call is not JSON"}</span>
      </p>
      <PlainText text={text} isBoxed />
    </div>
  )
}

export const ToolResult = ({ text, title }: { readonly text: string; readonly title: string }) => {
  const value = parsed(text)
  return (
    <div className="tool tool-result">
      <p className="tool-head">
        <span className="tool-kind">{title}</span>
      </p>
      {typeof value === "object" && value !== null ? <Json value={value} /> : <PlainText text={text} isBoxed />}
    </div>
  )
}
