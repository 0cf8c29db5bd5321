/** Lists the active keyboard shortcuts of the current page, and the licences of bundled software. */
import { Modal } from "../ui/Modal.tsx"
import { useListedShortcuts } from "../ui/useShortcuts.tsx"

const names: { readonly [key: string]: string } = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
  " ": "Space"
}

const byPlace = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  Number(a === "Everywhere") - Number(b === "Everywhere")

/** Included in every built page; missing only in development. */
const licences = (): string => document.querySelector("#atropos-licences")?.textContent ?? ""

export const Help = ({ onClose }: { readonly onClose: () => void }) => (
  <Modal title="Keyboard" className="help" isAsking={false} onClose={onClose}>
    {[...Map.groupBy(useListedShortcuts(), ({ scope }) => scope)].toSorted(byPlace).map(([scope, listed]) => (
      <section key={scope}>
        <h3>{scope}</h3>
        <dl>
          {listed
            .flatMap(({ entries }) => entries)
            .map(({ keys, label }) => (
              <div key={label} style={{ display: "contents" }}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{names[key] ?? key}</kbd>
                  ))}
                </dt>
                <dd>{label}</dd>
              </div>
            ))}
        </dl>
      </section>
    ))}
    <details>
      <summary>Licences of bundled libraries</summary>
      <pre tabIndex={0}>{licences()}</pre>
    </details>
  </Modal>
)
