"use client";
import { load } from "litecast";
import { useEffect, useState } from "react";

export default function Page() {
  const [text, setText] = useState("");
  useEffect(() => {
    const estimate = async () => {
      const litecast = await load();
      const bytes = await (await fetch("model.tflite")).arrayBuffer();
      const { results } = litecast.estimate(bytes);
      setText(results.map(({ device, metric, unavailable, value, unit }) => `${device}, ${metric}: ${unavailable ?? `${value} ${unit}`}`).join("\n"));
    };
    estimate();
  }, []);
  return <pre id="result">{text}</pre>;
}
