/** Switches and parameters a group came with, those that are one value: `temperature 0.7`. */
export const Settings = ({ of }: { readonly of: ReadonlyArray<{ readonly [name: string]: unknown }> }) =>
  of.flatMap((settings) =>
    Object.entries(settings).flatMap(([name, value]) => {
      const isShown = typeof value === "number" || typeof value === "boolean" || typeof value === "string"
      return isShown ? [<span key={name}>{`${name.replaceAll("_", " ")} ${String(value).slice(0, 40)}`}</span>] : []
    })
  )
