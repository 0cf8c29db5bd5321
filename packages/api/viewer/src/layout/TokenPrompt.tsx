/** Asks for the service's token once, whichever request was refused. */
import { type FormEvent, useState } from "react"
import { useSession } from "../state/SourceContext.tsx"
import * as Token from "../source/Token.ts"
import { Modal } from "../ui/Modal.tsx"

export const TokenPrompt = () => {
  const { dismissToken, submitToken } = useSession()
  const [value, setValue] = useState("")
  const wasRefused = Token.read() !== null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (value.trim() !== "") submitToken(value.trim())
  }
  return (
    <Modal title="Token required" onClose={dismissToken}>
      <form className="dialog-form" onSubmit={submit}>
        <p className="muted">
          {wasRefused ? "The service rejected the token. " : ""}The role “reader” suffices. The token is kept until this
          tab is closed.
        </p>
        <label className="dialog-form">
          Token
          <input
            type="password"
            name="token"
            autoComplete="current-password"
            spellCheck={false}
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
        </label>
        <div>
          <button type="submit" className="primary" disabled={value.trim() === ""}>
            Continue
          </button>
        </div>
      </form>
    </Modal>
  )
}
