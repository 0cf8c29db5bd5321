/** Edits the bounds of a value; invalid numbers are reported and ignored. */
import { useId, useState } from "react"
import * as Filter from "../../query/Filter.ts"

export const Range = ({
  from,
  name,
  onChange,
  to
}: {
  readonly name: string
  readonly from: number | null
  readonly to: number | null
  readonly onChange: (from: number | null, to: number | null) => void
}) => (
  <fieldset className="range">
    <legend>{name}</legend>
    <NumberField label={`${name} from`} placeholder="from" value={from} onChange={(value) => onChange(value, to)} />
    <span aria-hidden="true">–</span>
    <NumberField label={`${name} to`} placeholder="to" value={to} onChange={(value) => onChange(from, value)} />
  </fieldset>
)

const NumberField = ({
  label,
  onChange,
  placeholder,
  value
}: {
  readonly label: string
  readonly placeholder: string
  readonly value: number | null
  readonly onChange: (value: number | null) => void
}) => {
  const id = useId()
  const [typed, setTyped] = useState(value === null ? "" : String(value))
  const isWrong = typed.trim() !== "" && Filter.number(typed) === null
  const [previous, setPrevious] = useState(value)
  if (previous !== value) {
    setPrevious(value)
    if (Filter.number(typed) !== value) setTyped(value === null ? "" : String(value))
  }
  return (
    <>
      <label className="sr-only" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        className="number"
        inputMode="decimal"
        autoComplete="off"
        placeholder={placeholder}
        value={typed}
        aria-invalid={isWrong}
        title={isWrong ? "a number, for example 0.5 or 12" : undefined}
        onChange={({ target }) => {
          setTyped(target.value)
          const source = Filter.number(target.value)
          if (source !== null || target.value.trim() === "") onChange(source)
        }}
      />
    </>
  )
}
