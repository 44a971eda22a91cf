#include "study/report.h"

#include <fmt/format.h>

#include "study/html.h"
#include "study/report_answer.h"
#include "study/report_findings.h"
#include "study/report_model.h"
#include "study/report_style.h"
#include "study/report_text.h"

namespace assay::study {
namespace {

std::string items(const std::vector<std::string>& marked, const std::string& none) {
  if (marked.empty()) return "<p>" + none + "</p>\n";
  std::string text = "<ul>\n";
  for (const std::string& line : marked) text += "<li>" + html(line) + "</li>\n";
  return text + "</ul>\n";
}

std::vector<std::string> plain_lines(const std::vector<std::string>& texts) {
  std::vector<std::string> lines;
  for (const std::string& text : texts) lines.push_back(plain(text));
  return lines;
}

std::string head(const Study& study) {
  std::string made = fmt::format("Study <code>{}</code>, made on {} by Assay {}",
                                 escape(study.name), escape(study.created), escape(study.assay));
  if (study.git) made += fmt::format(" (commit <code>{}</code>)", escape(*study.git));
  std::string links = "<a href=\"#answer\">Answer</a> <a href=\"#trust\">Trust</a> ";
  for (std::size_t i = 0; i < study.models.size(); ++i) {
    links += fmt::format("<a href=\"#{}\">{}</a> ", anchor(i), escape(study.models[i].name));
  }
  links += "<a href=\"#open\">Not measured</a> <a href=\"#method\">Method</a>";
  return fmt::format(
      "<header><p class=\"kicker\">Precision study</p><h1>{}</h1><p class=\"question\">{}</p>"
      "<p class=\"made\">{}.</p><nav aria-label=\"Parts of this page\">{}</nav></header>\n",
      escape(study.title), escape(study.question), made, links);
}

std::string glossary(const Study& study) {
  const bool fp32 = reference_name(study) == "fp32";
  const std::string reference =
      fp32 ? "what every variant is compared with.</dd></div>"
           : "what every variant's speed is compared with.</dd></div>"
             "<div><dt>The reference</dt><dd>What every variant's answers are compared with: "
             "another program’s, where a model's section names its file, else fp32's.</dd></div>";
  return "<section><h2>How to read this</h2>\n<dl class=\"words\">"
         "<div><dt>Variant</dt><dd>The same network, built with other number formats. Narrow "
         "formats (8 bits and fewer) take less memory and can run faster, and round "
         "more.</dd></div>"
         "<div><dt>fp32</dt><dd>The network as it was trained, in 32-bit numbers: " +
         reference +
         "<div><dt>Agreement</dt><dd>On how many of the images a variant gives the same answer "
         "as " +
         reference_name(study) +
         ", right or wrong.</dd></div>"
         "<div><dt>SQNR</dt><dd>How far the network’s output stands above the noise that rounding "
         "adds, in decibels. It sees changes long before any answer flips. Ten more means a tenth "
         "of "
         "the noise power.</dd></div>"
         "<div><dt>Speed</dt><dd>fp32’s time divided by the variant’s, measured side by side: 2× "
         "takes half the time. The headline figure is a call at the smallest batch.</dd></div>"
         "<div><dt>Interval</dt><dd>The small print under a figure: a range made so that it holds "
         "the "
         "true value in 95 of 100 studies like this one.</dd></div></dl></section>\n";
}

std::string open_ends(const Study& study) {
  std::string text = "<section id=\"open\"><h2>Not measured</h2>\n" +
                     items(plain_lines(study.not_measured), "Nothing was named.");
  text += "<h2>Hypotheses</h2>\n<p>Nothing here was measured.</p>\n";
  if (study.hypotheses.empty()) {
    text += "<p>None.</p>\n";
  } else {
    text += "<ul>\n";
    for (const std::string& line : study.hypotheses) {
      text += "<li><span class=\"tag\">Hypothesis</span> " + html(plain(line)) + "</li>\n";
    }
    text += "</ul>\n";
  }
  return text + "<h2>When to revisit</h2>\n" +
         items(plain_lines(study.revisit), "No occasion was named.") + "</section>\n";
}

std::string method(const Study& study) {
  const Machine& machine = study.machine;
  const Measuring& measuring = study.measuring;
  std::string text =
      "<section id=\"method\"><h2>Method</h2>\n<h3>Data</h3>\n" + items(selection_text(study), "");
  text +=
      "<h3>Machine</h3>\n<ul><li>" +
      escape(fmt::format("{} ({}), {} cores, {} threads used, {} GB of memory", machine.cpu_model,
                         machine.isa, machine.cores, machine.threads, figure(machine.memory_gb))) +
      "</li><li>" + escape(machine.os + "; compiler: " + machine.compiler) + "</li></ul>\n";
  text += fmt::format(
      "<h3>Timing</h3>\n<ul><li>Clock: {}</li><li>Synchronization: {}</li><li>{} rounds of "
      "warm-up, "
      "then {} that are kept. Calls a sample: {}. Each round runs every variant once, beginning "
      "with "
      "another one each time.</li>",
      escape(sentence(measuring.clock)), escape(sentence(measuring.synchronization)),
      count(measuring.warm_up), count(measuring.rounds), count(measuring.calls));
  for (const auto& [name, meaning] : measuring.boundaries) {
    text += fmt::format("<li>Boundary <em>{}</em>: {}</li>", escape(boundary_name(name)),
                        escape(sentence(meaning)));
  }
  text +=
      "</ul>\n<p>Shares have Wilson’s 95% interval, SQNR and KL the bootstrap’s over images, "
      "medians that of order statistics. McNemar’s test asks whether as many right answers were "
      "lost as gained; a small p says that the accuracies differ.</p>\n";
  text += "<details><summary>The specification as it was run</summary><pre><code>" +
          escape(study.spec.text) + "</code></pre></details>\n";
  return text +
         "<p>Every figure, with its raw samples, is in <code>study.json</code> beside this page. "
         "<code>assay study --verify</code> on this folder runs the study again and compares."
         "</p></section>\n";
}

}  // namespace

std::string report_html(const Study& study) {
  std::string body = head(study) + "<main>\n" + report_answer(study) + glossary(study);
  body += "<section id=\"trust\"><h2>How far to trust it</h2>\n" + items(trust(study), "") +
          "</section>\n";
  for (std::size_t i = 0; i < study.models.size(); ++i) body += report_model(study, i);
  body += open_ends(study) + method(study) + "</main>\n";
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      // Whatever text the study has, the page loads nothing and runs nothing.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{}"
      "</body>\n</html>\n",
      escape(study.title), report_style(), body);
}

}  // namespace assay::study
