/**
 * Switches and parameters a group came with: `temperature 0.7`, `limits {"turns":3}`; long ones are whole where they
 * are pointed at.
 */
export const Settings = ({ of }: { readonly of: ReadonlyArray<{ readonly [name: string]: unknown }> }) =>
  of.flatMap((settings) =>
    Object.entries(settings).flatMap(([name, value]) => {
      if (value === null || value === undefined) return []
      const text = typeof value === "string" ? value : JSON.stringify(value)
      const shown = text.length > longest ? `${text.slice(0, longest - 1)}…` : text
      return [
        <span key={name} title={shown === text ? undefined : text}>{`${name.replaceAll("_", " ")} ${shown}`}</span>
      ]
    })
  )

const longest = 80
