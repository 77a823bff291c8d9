// SPDX-License-Identifier: Apache-2.0
#include "judge/referee_client.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/fault.h"
#include "base/json.h"
#include "judge/priority.h"
#include "judge/referee_link.h"
#include "judge/referee_process.h"

namespace ww::judge {
namespace {

constexpr nanoseconds kParentLimit = seconds(30);
constexpr nanoseconds kEndLimit = seconds(2);
constexpr nanoseconds kEndPoll = milliseconds(5);
constexpr nanoseconds kLeastLimit = milliseconds(1);
constexpr int kProtocol = 1;

std::string_view name(RefereeSide side) {
  switch (side) {
    case RefereeSide::kEager:
      return "eager";
    case RefereeSide::kCompile:
      return "compile";
    case RefereeSide::kCompileMax:
      return "compile_max";
    case RefereeSide::kSpin:
      return "spin";
  }
  WW_CHECK(false, "a side outside the enumeration");
  __builtin_unreachable();
}

Json seed_json(const std::optional<uint64_t>& seed) { return seed ? Json(*seed) : Json(nullptr); }

Json offsets_json(const RefereeLayout::Offsets& offsets) {
  Json list = Json::array();
  for (const auto& offset : offsets) list.push_back(seed_json(offset));
  return list;
}

std::string in_seconds(nanoseconds limit) {
  std::string text = std::to_string(static_cast<double>(limit.count()) / 1e9);
  text.resize(text.find('.') + 2);
  return text + " s";
}

}  // namespace

struct RefereeParent::State {
  explicit State(const RefereeSettings& settings) : process(settings) {}

  /// A request that only a fault of ours can fail.
  Json ask(const Json& request, const std::vector<int>& fds, nanoseconds limit) {
    const std::string what = request["do"].get<std::string>();
    const LinkReply reply = exchange(process.socket(), request, fds, limit);
    if (reply.end != LinkEnd::kReply) process.fail(what, reply.end == LinkEnd::kTimeout);
    Json parsed = parse_reply(reply.bytes, what);
    if (!parsed["ok"].get<bool>()) {
      throw Fault(Fault::Kind::kSystem,
                  "the referee cannot " + what + ": " + text_member(member(parsed, "error"), "message"));
    }
    return parsed;
  }

  std::vector<EndedChild> reaped() {
    const Json reply = ask({{"do", "reaped"}}, {}, kParentLimit);
    std::vector<EndedChild> ended = std::exchange(set_aside, {});
    for (const Json& item : member(reply, "ended")) {
      EndedChild child{.pid = int_member(item, "pid"), .exit = {}, .signal = {}};
      if (!member(item, "exit").is_null()) child.exit = int_member(item, "exit");
      if (!member(item, "signal").is_null()) child.signal = int_member(item, "signal");
      ended.push_back(child);
    }
    return ended;
  }

  /// How this child ended, waiting a little for the parent to notice; others stay for reaped().
  std::optional<EndedChild> take_ended(pid_t inside_pid) {
    for (const nanoseconds deadline = now() + kEndLimit; now() < deadline;) {
      std::vector<EndedChild> ended = reaped();
      std::optional<EndedChild> found;
      for (const EndedChild& child : ended) {
        if (child.pid == inside_pid) {
          found = child;
        } else {
          set_aside.push_back(child);
        }
      }
      if (found) return found;
      const timespec pause{0, kEndPoll.count()};
      ::nanosleep(&pause, nullptr);
    }
    return std::nullopt;
  }

  RefereeProcess process;
  std::string torch;
  std::string python;
  std::vector<std::string> missing_layers;
  std::vector<EndedChild> set_aside;
  std::optional<nanoseconds> child_deadline;  ///< of what children are asked
};

RefereeParent::RefereeParent(const RefereeSettings& settings) : state_(std::make_shared<State>(settings)) {
  const Json hello = state_->ask({{"do", "hello"}}, {}, settings.start_limit);
  if (int_member(hello, "protocol") != kProtocol) {
    throw Fault(Fault::Kind::kProtocol, "the referee speaks protocol " + member(hello, "protocol").dump() + ", not " +
                                            std::to_string(kProtocol) + ": is the python package of this version?");
  }
  state_->torch = text_member(hello, "torch");
  state_->python = text_member(hello, "python");
  for (const sandbox::Layer& layer : state_->process.isolation().layers) {
    if (!layer.present) state_->missing_layers.push_back(layer.name);
  }
}

RefereeParent::~RefereeParent() = default;

const std::string& RefereeParent::torch_version() const { return state_->torch; }
const std::string& RefereeParent::python_version() const { return state_->python; }
const std::vector<std::string>& RefereeParent::missing_layers() const { return state_->missing_layers; }

void RefereeParent::prepare_compiler(nanoseconds limit) { state_->ask({{"do", "prepare"}}, {}, limit); }

std::vector<RefereeParent::EndedChild> RefereeParent::reaped() { return state_->reaped(); }

void RefereeParent::set_deadline(std::optional<nanoseconds> deadline) { state_->child_deadline = deadline; }

struct RefereeChild::State {
  std::shared_ptr<RefereeParent::State> parent;
  MessageSocket socket;
  Fd go;
  Fd done;
  Fd pidfd;
  pid_t inside_pid = 0;
  Endpoint endpoint;
  Refusal refusal = Refusal::kNone;
  std::string filename;  ///< of the task, for messages

  void kill() {
    if (pidfd.valid()) ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  }

  Error refuse(Refusal why, std::string message) {
    refusal = why;
    return Error{std::move(message), filename};
  }

  Error ended(const std::string& what) {
    socket.close();
    const auto how = parent->take_ended(inside_pid);
    std::string text = "the process of the reference ended during " + what;
    if (how && how->signal) {
      const char* signal_name = ::sigabbrev_np(*how->signal);
      text += std::string(" by SIG") + (signal_name ? signal_name : std::to_string(*how->signal).c_str());
      if (*how->signal == SIGKILL) text += " (out of memory?)";
    } else if (how && how->exit) {
      text += " with exit code " + std::to_string(*how->exit);
    }
    return refuse(Refusal::kEnded, text);
  }

  Error timed_out(const std::string& what, nanoseconds limit) {
    kill();
    socket.close();
    return refuse(Refusal::kTimeout, "the reference did not finish " + what + " within " + in_seconds(limit));
  }

  /// Error for a task's fault or limit.
  Error refused(const Json& error, const std::string& what) {
    const std::string kind = text_member(error, "kind");
    const std::string message = text_member(error, "message");
    if (kind != "task" && kind != "limit") {
      throw Fault(Fault::Kind::kSystem, "the referee cannot " + what + ": " + message);
    }
    refusal = kind == "task" ? Refusal::kTask : Refusal::kLimit;
    const Json& line = member(error, "line");
    return Error{message, line.is_number_integer() ? filename + ":" + line.dump() : filename};
  }

  Result<Json> ask(const Json& request, const std::vector<int>& fds, nanoseconds limit) {
    const std::string what = request["do"].get<std::string>();
    if (!socket.valid()) return Error{"the process of the reference has ended", filename};
    if (const auto until = parent->child_deadline) limit = std::min(limit, std::max(*until - now(), kLeastLimit));
    const LinkReply reply = exchange(socket, request, fds, limit);
    if (reply.end == LinkEnd::kClosed) return ended(what);
    if (reply.end == LinkEnd::kTimeout) return timed_out(what, limit);
    Json parsed = parse_reply(reply.bytes, what);
    if (!parsed["ok"].get<bool>()) return refused(member(parsed, "error"), what);
    refusal = Refusal::kNone;
    return parsed;
  }

  Status tell(const Json& request, const std::vector<int>& fds, nanoseconds limit) {
    auto reply = ask(request, fds, limit);
    if (!reply) return reply.error();
    return Unit{};
  }
};

std::unique_ptr<RefereeChild> RefereeParent::open(int threads, bool twin) {
  auto state = std::make_unique<RefereeChild::State>();
  state->parent = state_;
  auto [ours, theirs] = MessageSocket::pair();
  // Before the child can send: the kernel vouches only for what is sent from then on.
  ours.ask_credentials();
  state->socket = std::move(ours);
  state->go = make_eventfd();
  Pipe done = make_pipe();
  const Json request = {
      {"do", "open"}, {"threads", threads}, {"twin", twin}, {"memory_bytes", state_->process.child_memory_bytes()}};
  const Json reply = state_->ask(request, {theirs.fd(), state->go.get(), done.write.get()}, kParentLimit);
  theirs.close();
  done.write.reset();
  state->done = std::move(done.read);
  state->inside_pid = int_member(reply, "pid");
  const LinkReply hello = exchange(state->socket, {{"do", "hello"}}, {}, kParentLimit);
  if (hello.end != LinkEnd::kReply || hello.sender <= 0) {
    throw Fault(Fault::Kind::kSystem, "a child of the referee does not answer");
  }
  state->pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, hello.sender, 0)));
  if (!state->pidfd.valid()) throw_errno("watching a child of the referee");
  prefer(hello.sender);
  state->endpoint = {.pid = hello.sender,
                     .our_child = false,
                     .go_fd = state->go.get(),
                     .done_fd = state->done.get(),
                     .closed_by_word = true};
  return std::unique_ptr<RefereeChild>(new RefereeChild(std::move(state)));
}

RefereeChild::RefereeChild(std::unique_ptr<State> state) : state_(std::move(state)) {}

RefereeChild::~RefereeChild() { state_->kill(); }

const Endpoint& RefereeChild::endpoint() const { return state_->endpoint; }
RefereeChild::Refusal RefereeChild::refusal() const { return state_->refusal; }

Result<Loaded> RefereeChild::load(const LoadRequest& request, nanoseconds limit) {
  state_->filename = request.filename;
  const Json message = {{"do", "load"},
                        {"workload", request.workload},
                        {"filename", request.filename},
                        {"source", request.source},
                        {"set", parse_own_json(request.set)},
                        {"contract", task::to_json(request.contract)},
                        {"check", request.check}};
  auto reply = state_->ask(message, {}, limit);
  if (!reply) return reply.error();
  return Loaded{.inputs = specs_member(*reply, "inputs"),
                .weights = specs_member(*reply, "weights"),
                .outputs = specs_member(*reply, "outputs"),
                .mutates = texts_member(*reply, "mutates"),
                .straws = texts_member(*reply, "straws"),
                .notes = texts_member(*reply, "notes"),
                .reply = std::make_shared<const Json>(std::move(*reply))};
}

Status RefereeChild::attach(const std::string& workload, const RefereeLayout& layout, int arena, nanoseconds limit) {
  const Json offsets = {{"inputs", offsets_json(layout.inputs)},
                        {"weights", offsets_json(layout.weights)},
                        {"expected", offsets_json(layout.expected)},
                        {"truth", offsets_json(layout.truth)},
                        {"other", offsets_json(layout.other)}};
  return state_->tell({{"do", "attach"}, {"workload", workload}, {"layout", offsets}}, {arena}, limit);
}

Status RefereeChild::draw(const std::string& workload, const DrawRequest& request, nanoseconds limit) {
  return state_->tell({{"do", "draw"},
                       {"workload", workload},
                       {"input_seed", seed_json(request.input_seed)},
                       {"weight_seed", seed_json(request.weight_seed)},
                       {"pattern", request.pattern}},
                      {}, limit);
}

Result<Expectation> RefereeChild::expect(const std::string& workload, bool truth, nanoseconds limit) {
  auto reply = state_->ask({{"do", "expect"}, {"workload", workload}, {"truth", truth}}, {}, limit);
  if (!reply) return reply.error();
  return Expectation{bool_member(*reply, "finite"), bool_member(*reply, "truth_available")};
}

Result<std::optional<std::string>> RefereeChild::straw(const std::string& workload, const std::string& straw_name,
                                                       nanoseconds limit) {
  auto reply = state_->ask({{"do", "straw"}, {"workload", workload}, {"name", straw_name}}, {}, limit);
  if (!reply) return reply.error();
  if (member(*reply, "skipped").is_null()) return std::optional<std::string>();
  return std::optional<std::string>(text_member(*reply, "skipped"));
}

Result<Compiled> RefereeChild::compile(const std::string& workload, RefereeSide side, nanoseconds limit) {
  auto reply = state_->ask({{"do", "compile"}, {"workload", workload}, {"side", name(side)}}, {}, limit);
  if (!reply) return reply.error();
  return Compiled{.seconds = number_member(*reply, "seconds"),
                  .graphs = int_member(*reply, "graphs"),
                  .breaks = int_member(*reply, "breaks"),
                  .recompiles = int_member(*reply, "recompiles")};
}

Status RefereeChild::stage(const std::string& workload, RefereeSide side, uint64_t sequence, nanoseconds spin,
                           nanoseconds limit) {
  return state_->tell(
      {{"do", "stage"}, {"workload", workload}, {"side", name(side)}, {"sequence", sequence}, {"spin_us", to_us(spin)}},
      {}, limit);
}

Status RefereeChild::collect(const std::string& workload, RefereeRegion into, nanoseconds limit) {
  const char* region = into == RefereeRegion::kExpected ? "expected" : "other";
  return state_->tell({{"do", "collect"}, {"workload", workload}, {"into", region}}, {}, limit);
}

Result<double> RefereeChild::flops(const std::string& workload, nanoseconds limit) {
  auto reply = state_->ask({{"do", "flops"}, {"workload", workload}}, {}, limit);
  if (!reply) return reply.error();
  return number_member(*reply, "flops");
}

Result<Json> RefereeChild::capture(const std::string& workload, nanoseconds limit) {
  auto reply = state_->ask({{"do", "capture"}, {"workload", workload}}, {}, limit);
  if (!reply) return reply.error();
  return member(*reply, "graph");
}

}  // namespace ww::judge
