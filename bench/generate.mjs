// Writes a Claude Code session of about the given size: tool outputs of 8 to 20 KB, some of them Chinese and Japanese.
// As JSON it is one value, a request to Anthropic; small outputs have 400 to 4,400 bytes, so that a message
// has as many as those of real sessions.
// usage: node generate.mjs MEGABYTES [json [small]] > FILE
const megabytes = Number(process.argv[2] ?? 100);
const asDocument = process.argv[3] === "json";
const [least, more] = process.argv[4] === "small" ? [400, 4000] : [8000, 12000];
let seed = 42;
const random = (below) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed % below;
};
const words = "let const fn struct impl return error result config parser token stream buffer handler request".split(" ");
const han = "这个函数返回错误结果配置解析器令牌流缓冲区处理程序请求テストの結果を確認してください";
const line = () => {
  if (random(20) === 0) return Array.from({ length: 30 }, () => han[random(han.length)]).join("");
  const parts = Array.from({ length: 6 + random(6) }, () => words[random(words.length)]);
  return `  ${parts.join(" ")} "quoted ${random(10000)}" // src/module_${random(40)}/file_${random(200)}.rs:${random(900)}`;
};
const output = () => {
  const size = least + random(more);
  const lines = [];
  for (let length = 0; length < size; ) {
    const next = line();
    lines.push(next);
    length += next.length + 1;
  }
  return lines.join("\n");
};
const at = (n) => new Date(1767225600000 + n * 1000).toISOString();
const base = { isSidechain: false, userType: "external", cwd: "/home/dev/project", sessionId: "bench", version: "2.0.0" };
let written = 0;
let chunk = [];
let pending = 0;
const flush = async () => {
  const text = chunk.join("");
  chunk = [];
  pending = 0;
  if (!process.stdout.write(text)) await new Promise((resolve) => process.stdout.once("drain", resolve));
};
const put = async (record, isFirst) => {
  const text = asDocument
    ? `${isFirst ? '{"model":"claude-sonnet-4-5","system":"You help.","messages":[' : ","}${JSON.stringify(record.message)}`
    : JSON.stringify(record) + "\n";
  written += Buffer.byteLength(text);
  pending += text.length;
  chunk.push(text);
  if (pending > 1 << 20) await flush();
};
for (let n = 0; written < megabytes * 1e6; n += 1) {
  if (n % 50 === 0) {
    const content = [{ type: "text", text: `Please look at part ${n} and fix what is broken there.` }];
    await put({ ...base, type: "user", uuid: `u${n}`, timestamp: at(n), message: { role: "user", content } }, n === 0);
  }
  const path = `/home/dev/project/src/module_${random(40)}/file_${random(200)}.rs`;
  const id = `toolu_${n}`;
  const content = [
    { type: "text", text: `Reading ${path} next.` },
    { type: "tool_use", id, name: random(3) === 0 ? "Bash" : "Read", input: { file_path: path, limit: random(2000) } },
  ];
  const usage = { input_tokens: 10, cache_read_input_tokens: n * 100, output_tokens: 50 };
  const message = { id: `msg_${n}`, role: "assistant", model: "claude-sonnet-4-5", content, usage };
  if (asDocument) { delete message.id; delete message.model; delete message.usage; }
  await put({ ...base, type: "assistant", uuid: `a${n}`, timestamp: at(n), message });
  const result = { type: "tool_result", tool_use_id: id, content: output() };
  await put({ ...base, type: "user", uuid: `r${n}`, timestamp: at(n), message: { role: "user", content: [result] } });
}
if (asDocument) chunk.push("]}\n");
await flush();
