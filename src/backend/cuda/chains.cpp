#include "backend/cuda/chains.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backend/cuda/chain_rewrite.h"
#include "backend/cuda/chain_rules.h"
#include "backend/cuda/kernels/chain_shape.h"
#include "base/error.h"

namespace assay::backend::cuda {
namespace {

/// A product of its own becomes a chain of one up to this many rows: then its columns and weights
/// are spread over a cluster.
constexpr std::int64_t kMostRowsAlone = 4096;

class Joiner {
 public:
  Joiner(int max_batch, Program& program)
      : max_batch_(max_batch), program_(program), rules_(program.blocks), steps_(program.steps) {}

  void run() {
    split_firsts(steps_);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].chain != nullptr || !begin(i)) continue;
      while (members_.size() < kMostStages && extend()) {
      }
      while (!members_.empty() && !fits()) drop_last();
      if (!members_.empty() && is_worth_it()) replace();
    }
  }

 private:
  struct Open {  ///< a member, by where its step is in the list
    std::size_t index = 0;
    ChainMember member;
  };

  // ---- growing ----------------------------------------------------------------------------------

  bool begin(std::size_t index) {
    members_.clear();
    open_.clear();
    const Step& step = steps_[index];
    if (step.attention ? !rules_.can_attend(*step.attention) : !rules_.can_begin(step))
      return false;
    members_.push_back({index, {step}});
    open_.push_back(0);
    return true;
  }

  [[nodiscard]] bool has(std::size_t index) const {
    return std::ranges::any_of(members_, [&](const Open& m) { return m.index == index; });
  }

  bool extend() {
    for (std::size_t i = members_.front().index + 1; i < steps_.size(); ++i) {
      if (has(i) || steps_[i].chain != nullptr) continue;
      std::optional<ChainMember> member =
          steps_[i].attention ? as_attention(steps_[i]) : as_product(steps_[i]);
      if (!member || !can_follow(steps_[i])) continue;
      members_.push_back({i, *std::move(member)});
      if (!position()) {
        members_.pop_back();
        continue;
      }
      const ChainMember& added = members_.back().member;
      if (!added.again) {
        members_[static_cast<std::size_t>(added.from)].member.shares = true;
        open_.clear();
      }
      open_.push_back(static_cast<int>(members_.size()) - 1);
      return true;
    }
    return false;
  }

  [[nodiscard]] static const Place& out_of(const Step& step) {
    return step.attention ? step.attention->out : step.product->out;
  }

  [[nodiscard]] std::optional<ChainMember> as_product(const Step& step) const {
    if (!rules_.can_join(step)) return std::nullopt;
    const ProductStep& p = *step.product;
    if (p.product.source != Source::rows && p.product.source != Source::layer_norm) {
      return std::nullopt;
    }
    for (const int open : open_) {
      const Open& before = members_[static_cast<std::size_t>(open)];
      if (before.member.view_row != 0) continue;
      const Place& out = out_of(before.member.step);
      const auto row = first_row(p, out);
      if (row) return ChainMember{step, true, false, false, false, open, *row};
    }
    return as_sibling(step);
  }

  /// A product of the rows that the newest members read, as those were made ready for them.
  [[nodiscard]] std::optional<ChainMember> as_sibling(const Step& step) const {
    const ChainMember& reader = members_[static_cast<std::size_t>(open_.front())].member;
    if (!reader.step.product) return std::nullopt;
    const ProductStep& p = *step.product;
    const ProductStep& q = *reader.step.product;
    if (p.a != q.a || p.norm != q.norm || p.product.source != q.product.source ||
        p.product.operand != q.product.operand ||
        p.product.inverse_a_scale != q.product.inverse_a_scale ||
        p.product.source_act != q.product.source_act || p.product.k != q.product.k) {
      return std::nullopt;
    }
    return ChainMember{step, reader.reads, true, false, false, reader.from, reader.view_row};
  }

  /// Attention whose queries a member left in shared memory, of a tile that is alone.
  [[nodiscard]] std::optional<ChainMember> as_attention(const Step& step) const {
    const AttentionStep& a = *step.attention;
    if (!rules_.can_attend(a) || !in_octets(a) || a.attention.head_size % 16 != 0 ||
        a.q.rows > 16) {
      return std::nullopt;
    }
    for (const int open : open_) {
      if (a.q == out_of(members_[static_cast<std::size_t>(open)].member.step)) {
        return ChainMember{step, true, false, false, false, open, 0};
      }
    }
    return std::nullopt;
  }

  /// Whether memory lets it come after the members. With one tile a barrier of its blocks orders
  /// all; with several nothing orders those.
  [[nodiscard]] bool can_follow(const Step& step) const {
    const std::int64_t rows = out_of(members_.front().member.step).rows;
    const bool alone = rows <= 16;
    for (const Open& other : members_) {
      const Step& before = other.member.step;
      const Place residual = step.product ? step.product->residual : Place{};
      for (const Place& read : step.reads) {
        if (!overlap(read, out_of(before))) continue;
        const bool as_rows = step.product ? read == step.product->a : read == step.attention->q;
        const bool own = read == residual && same_rows(residual, out_of(before)) &&
                         before.product && before.product->product.n == step.product->product.n;
        const bool keys = alone && step.attention.has_value();
        if (!as_rows && !own && !keys) return false;
      }
      for (const Place& write : step.writes) {
        for (const Place& read : before.reads) {
          if (overlap(write, read) && !alone) return false;
        }
        if (overlap(write, out_of(before))) return false;
      }
    }
    return true;
  }

  // ---- where it goes ----------------------------------------------------------------------------

  /// The member at whose place all of them can run: nothing between them and that place minds.
  [[nodiscard]] std::optional<std::size_t> position() const {
    for (auto pivot = members_.rbegin(); pivot != members_.rend(); ++pivot) {
      if (std::ranges::all_of(members_,
                              [&](const Open& m) { return can_move(m.index, pivot->index); })) {
        return pivot->index;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] bool can_move(std::size_t from, std::size_t to) const {
    for (std::size_t i = std::min(from, to); i <= std::max(from, to); ++i) {
      if (i == from || has(i)) continue;
      if (from < to ? depends(steps_[i], steps_[from]) : depends(steps_[from], steps_[i])) {
        return false;
      }
    }
    return true;
  }

  /// Whether some layout has room for it, with heads in whole octets.
  [[nodiscard]] bool fits() const {
    ChainPlan plan;
    for (const Open& open : members_) plan.members.push_back(open.member);
    if (std::optional<AttentionStep>& attention = plan.members.front().step.attention) {
      const int width = std::exchange(attention->attention.head_size,
                                      round_up(attention->attention.head_size, 8));
      if (plan.members.size() < 2) return false;
      Product& project = plan.members[1].step.product->product;
      project.k = project.k / width * attention->attention.head_size;
    }
    return fits_some_layout(std::move(plan));
  }
  void drop_last() {
    const ChainMember last = members_.back().member;
    members_.pop_back();
    const auto reads_it = [&](const Open& open) {
      return open.member.reads && open.member.from == last.from;
    };
    if (last.reads && std::ranges::none_of(members_, reads_it)) {
      members_[static_cast<std::size_t>(last.from)].member.shares = false;
    }
  }

  [[nodiscard]] bool is_worth_it() {
    for (const Open& open : members_) {
      const Step& step = open.member.step;
      if (step.attention && is_read_elsewhere(step.attention->out)) return false;
    }
    Step& first = members_.front().member.step;
    if (first.attention) {
      if (members_.size() < 2 || !members_[1].member.step.product ||
          !make_octets(program_, first, *members_[1].member.step.product)) {
        return false;
      }
      steps_[members_.front().index].reads = first.reads;
      return true;
    }
    const std::int64_t rows = out_of(first).rows * max_batch_;
    return members_.size() > 1 || rows <= kMostRowsAlone;
  }

  void replace() {
    const std::size_t at = *position();
    const auto plan = std::make_shared<ChainPlan>();
    Step joined;
    for (Open& open : members_) {
      ChainMember& member = open.member;
      member.writes = is_read_elsewhere(out_of(member.step));
      add_member(member, joined);
      plan->members.push_back(std::move(member));
    }
    joined.info.tactic = fmt::format("chain of {}", plan->members.size());
    joined.chain = plan;
    std::vector<Step> kept;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (i == at) kept.push_back(joined);
      if (!has(i)) kept.push_back(std::move(steps_[i]));
    }
    steps_ = std::move(kept);
  }

  void add_member(const ChainMember& member, Step& joined) const {
    const Step& step = member.step;
    StepInfo& info = joined.info;
    info.name = info.name.empty() ? step.info.name : info.name;
    info.operation =
        info.operation.empty() ? step.info.operation : info.operation + "+" + step.info.operation;
    info.output = step.info.output;
    info.flops += step.info.flops;
    info.weight_bytes += step.info.weight_bytes;
    for (const Place& read : step.reads) {
      const bool inside =
          member.reads && (step.product ? read == step.product->a : read == step.attention->q);
      if (read.block >= 0 && !inside) joined.reads.push_back(read);
    }
    if (member.writes) joined.writes.push_back(out_of(step));
  }

  /// Whether what is at `place` is read by others than those that find it in shared memory.
  [[nodiscard]] bool is_read_elsewhere(const Place& place) const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto member = std::ranges::find(members_, i, &Open::index);
      for (const Place& read : steps_[i].reads) {
        if (!overlap(read, place)) continue;
        if (member == members_.end() || !finds_in_shared(member->member, read)) return true;
      }
    }
    return std::ranges::any_of(program_.outputs,
                               [&](const auto& out) { return overlap(out.second, place); });
  }
  [[nodiscard]] static bool finds_in_shared(const ChainMember& member, const Place& read) {
    const Step& step = member.step;
    return member.reads && (step.product ? read == step.product->a : read == step.attention->q);
  }

  int max_batch_;
  Program& program_;
  ChainRules rules_;
  std::vector<Step>& steps_;
  std::vector<Open> members_;
  std::vector<int> open_;  ///< members whose output the next may read
};

}  // namespace

void join_chains(int max_batch, Program& program) { Joiner(max_batch, program).run(); }

}  // namespace assay::backend::cuda
