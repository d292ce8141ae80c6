// Writes a request of an awkward shape to standard output: node bench/growth.mjs SHAPE COUNT
const [, , shape, counted] = process.argv
const count = Number(counted)
const call = (id, name, args) => ({ id, type: "function", function: { name, arguments: JSON.stringify(args) } })
const shapes = {
    // The same few words, a million times over.
    same: () => Array.from({ length: count }, () => ({ role: "user", content: "fix it" })),
    alternating: () =>
        Array.from({ length: count }, (_, i) => (i % 2 ? { role: "assistant", content: "ok" } : { role: "user", content: "fix it" })),
    // One message with very many calls that nothing answers.
    calls: () => [
        { role: "user", content: "go" },
        { role: "assistant", content: null, tool_calls: Array.from({ length: count }, (_, i) => call(`c${i}`, "read_file", { file_path: `a${i}` })) },
    ],
    rules: () =>
        Array.from({ length: count }, (_, i) => [
            { role: "user", content: `Always use rule${i} for file${i}.rs.` },
            { role: "assistant", content: "ok" },
        ]).flat(),
    todos: () => [
        { role: "user", content: "go" },
        ...Array.from({ length: count }, (_, i) => {
            const todos = Array.from({ length: 20 }, (_, j) => ({ description: `step ${j} of ${i}`, status: "pending" }))
            return [
                { role: "assistant", content: null, tool_calls: [call(`c${i}`, "write_todos", { todos })] },
                { role: "tool", tool_call_id: `c${i}`, content: "ok" },
            ]
        }).flat(),
    ],
}
if (!shapes[shape] || !(count > 0)) {
    console.error(`usage: node bench/growth.mjs ${Object.keys(shapes).join("|")} COUNT`)
    process.exit(2)
}
process.stdout.write(JSON.stringify({ messages: shapes[shape]() }))
